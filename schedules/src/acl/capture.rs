//! Captures and graphs (facts/acl.md section 10).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::machine::{Machine, Outcome};
use super::state::{
    Body, CaptureState, Captured, GraphState, Launch, Part, RecordId, Task, TaskKind,
};
use super::{AclError, Event, Graph, Reply, Stream, Value};
use crate::ir::CaptureMode;

impl Machine {
    pub(super) fn capture_begin(
        &mut self,
        thread: u32,
        stream: Stream,
        mode: CaptureMode,
    ) -> Outcome {
        if self.capturing(stream) {
            return Err(AclError::STREAM_CAPTURED);
        }
        self.captures.push(CaptureState {
            origin: stream,
            mode,
            thread,
            active: true,
            streams: Vec::new(),
            external: BTreeSet::new(),
        });
        let capture = self.captures.len() - 1;
        if let Err(error) = self.join_capture(capture, stream) {
            self.captures.pop();
            return Err(error);
        }
        Ok(Reply::DONE)
    }

    /// Makes a stream a part of a capture.
    pub(super) fn join_capture(&mut self, capture: usize, stream: Stream) -> Result<(), AclError> {
        if stream.0 < self.config.devices {
            return Err(AclError::STREAM_CAPTURE_IMPLICIT);
        }
        let device = self.streams[stream.index()].device;
        let inner = self.new_stream(device, true);
        self.captures[capture].streams.push(Captured {
            outer: stream,
            inner,
            joins: true,
            tasks: Vec::new(),
        });
        self.streams[stream.index()].capture = Some(capture);
        Ok(())
    }

    pub(super) fn bind_stream(&mut self, origin: Stream, stream: Stream) -> Outcome {
        let capture = self
            .stream(origin)?
            .capture
            .ok_or(AclError::STREAM_NOT_CAPTURED)?;
        match self.streams[stream.index()].capture {
            Some(other) if other != capture => return Err(AclError::CAPTURE_CONFLICT),
            Some(_) => {}
            None => self.join_capture(capture, stream)?,
        }
        for captured in &mut self.captures[capture].streams {
            if captured.outer == stream {
                captured.joins = false;
            }
        }
        Ok(Reply::DONE)
    }

    /// What has been captured from a stream of the capture.
    pub(super) fn captured(&mut self, capture: usize, stream: Stream) -> &mut Vec<Task> {
        let streams = &mut self.captures[capture].streams;
        let at = streams
            .iter()
            .position(|of| of.outer == stream)
            .unwrap_or(0);
        &mut streams[at].tasks
    }

    /// The id that a record has if it is captured next.
    pub(super) fn next_captured(&self, capture: usize, stream: Stream) -> RecordId {
        let mut streams = self.captures[capture].streams.iter();
        let of = streams.find(|of| of.outer == stream);
        RecordId {
            stream: of.map_or(stream, |of| of.inner),
            nth: of.map_or(0, |of| of.tasks.len() as u32),
        }
    }

    /// An external record or wait: once per event and graph.
    pub(super) fn use_external(&mut self, capture: usize, event: Event) -> Result<(), AclError> {
        if !self.config.software_queues {
            return Err(AclError::FEATURE_NOT_SUPPORT);
        }
        match self.captures[capture].external.insert(event) {
            true => Ok(()),
            false => Err(AclError::PARAM_INVALID),
        }
    }

    /// Whether a capture forbids synchronous copies to a thread.
    pub(super) fn forbids_sync_copies(&self, thread: u32) -> bool {
        self.captures.iter().any(|capture| {
            capture.active
                && match capture.mode {
                    CaptureMode::Global => true,
                    CaptureMode::ThreadLocal => capture.thread == thread,
                    CaptureMode::Relaxed => false,
                }
        })
    }

    pub(super) fn capture_end(&mut self, thread: u32, stream: Stream) -> Outcome {
        let index = self.streams[stream.index()]
            .capture
            .ok_or(AclError::STREAM_NOT_CAPTURED)?;
        let capture = &self.captures[index];
        if capture.origin != stream {
            return Err(AclError::CAPTURE_UNMATCHED);
        }
        if capture.mode != CaptureMode::Relaxed && capture.thread != thread {
            return Err(AclError::CAPTURE_WRONG_THREAD);
        }
        let joined = capture.is_joined();
        let capture = &mut self.captures[index];
        capture.active = false;
        let streams = std::mem::take(&mut capture.streams);
        for of in &streams {
            self.streams[of.outer.index()].capture = None;
        }
        for event in &mut self.events {
            if event.captured.is_some_and(|(of, _)| of == index) {
                event.captured = None;
            }
        }
        if !joined {
            return Err(AclError::STREAM_UNJOINED);
        }
        let body = streams.into_iter().map(|of| (of.inner, of.tasks));
        self.graphs.push(GraphState {
            alive: true,
            body: Arc::new(body.collect()),
            launched: 0,
            completed: 0,
            dropped: BTreeSet::new(),
        });
        let graph = Graph(self.graphs.len() as u32 - 1);
        Ok(Reply::Ok(Value::Graph(graph)))
    }

    pub(super) fn graph(&mut self, graph: Graph) -> Result<&mut GraphState, AclError> {
        let state = self.graphs.get_mut(graph.index());
        state
            .filter(|state| state.alive)
            .ok_or(AclError::INVALID_HANDLE)
    }

    pub(super) fn execute(&mut self, graph: Graph, stream: Stream, tag: Option<u32>) -> Outcome {
        if self.capturing(stream) {
            return Err(AclError::STREAM_CAPTURED);
        }
        let state = self.graph(graph)?;
        let nth = state.launched;
        let body = state.body.clone();
        let launch = TaskKind::Launch(Box::new(Launch {
            graph,
            nth,
            running: false,
            body: Vec::new(),
        }));
        let reply = self.enqueue(stream, tag, launch)?;
        if reply != Reply::DONE {
            return Ok(reply);
        }
        self.graphs[graph.index()].launched += 1;
        let body = self.instantiate(Arc::unwrap_or_clone(body), nth, tag);
        if let Some(Task {
            kind: TaskKind::Launch(launch),
            ..
        }) = self.streams[stream.index()].queue.back_mut()
        {
            launch.body = body;
        }
        Ok(reply)
    }

    /// What the `nth` launch of a graph replays: records and waits for outside are bound now.
    fn instantiate(&mut self, mut body: Body, nth: u32, tag: Option<u32>) -> Body {
        let lengths: Vec<(Stream, u32)> = body
            .iter()
            .map(|(stream, tasks)| (*stream, tasks.len() as u32))
            .collect();
        let first = |stream: Stream| {
            let length = lengths.iter().find(|(of, _)| *of == stream);
            nth * length.map_or(0, |(_, length)| *length)
        };
        let latest: Vec<Option<RecordId>> = self.events.iter().map(|event| event.latest).collect();
        for (stream, tasks) in &mut body {
            for (at, task) in tasks.iter_mut().enumerate() {
                let shift = |rel: Option<u32>| Some(tag? + 1 + rel?);
                task.tag = shift(task.tag);
                match &mut task.kind {
                    TaskKind::Wait { record, .. } => record.nth += first(record.stream),
                    &mut TaskKind::WaitExternal(event) => {
                        task.kind = match latest[event.index()] {
                            Some(record) => TaskKind::Wait { event, record },
                            // Nothing to wait for, but the graph keeps its shape.
                            None => TaskKind::Work,
                        };
                    }
                    &mut TaskKind::RecordExternal(event) => {
                        task.kind = TaskKind::Record(event);
                        self.events[event.index()].latest = Some(RecordId {
                            stream: *stream,
                            nth: first(*stream) + at as u32,
                        });
                    }
                    TaskKind::Group { parts, .. } => {
                        for Part { task, .. } in parts {
                            task.tag = shift(task.tag);
                        }
                    }
                    _ => {}
                }
                self.count_collectives(task);
            }
        }
        body
    }

    /// A launch that was running is over.
    pub(super) fn launch_over(&mut self, graph: Graph) {
        self.graphs[graph.index()].completed += 1;
        self.skip_dropped(graph);
    }

    /// Launches that were dropped do not hold up those after them.
    pub(super) fn skip_dropped(&mut self, graph: Graph) {
        let state = &mut self.graphs[graph.index()];
        while state.dropped.remove(&state.completed) {
            state.completed += 1;
            for (stream, tasks) in state.body.iter() {
                let stream = &mut self.streams[stream.index()];
                let first = stream.retired;
                stream.retired += tasks.len() as u32;
                stream.lost.extend(first..stream.retired);
            }
        }
    }
}

impl CaptureState {
    /// Whether every stream that joined has come back to the origin, and got no task after that.
    fn is_joined(&self) -> bool {
        // How many tasks of each stream lie before something on the origin.
        let mut covered: Vec<usize> = self
            .streams
            .iter()
            .map(|of| {
                if of.outer == self.origin {
                    of.tasks.len()
                } else {
                    0
                }
            })
            .collect();
        loop {
            let before = covered.clone();
            for (at, of) in self.streams.iter().enumerate() {
                for task in &of.tasks[..before[at]] {
                    let TaskKind::Wait { record, .. } = task.kind else {
                        continue;
                    };
                    for (from, other) in self.streams.iter().enumerate() {
                        if other.inner == record.stream {
                            covered[from] = covered[from].max(record.nth as usize + 1);
                        }
                    }
                }
            }
            if covered == before {
                break;
            }
        }
        let mut streams = self.streams.iter().zip(covered);
        streams.all(|(of, covered)| !of.joins || covered == of.tasks.len())
    }
}
