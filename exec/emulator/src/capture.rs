//! Graph capture and replay (facts/acl.md section 10).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::fault::{Fault, Outcome, code};
use crate::signal::Record;
use crate::table::Key;
use crate::task::{Task, Work};
use crate::world::{Stream, World};

/// How many tasks of each stream of a capture come before some point.
type Clock = BTreeMap<Key, usize>;

/// A capture in progress.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) origin: Key,
    /// 0 global, 1 thread-local, 2 relaxed.
    pub(crate) mode: u32,
    /// The host thread that began it.
    pub(crate) thread: u64,
    streams: Vec<CapturedStream>,
    /// What comes before each record, by the record's address.
    records: BTreeMap<usize, Clock>,
    next: u32,
    group: Option<(Key, usize)>,
    /// Events used across the border of the graph.
    external: BTreeSet<Key>,
}

#[derive(Debug)]
struct CapturedStream {
    key: Key,
    id: i32,
    tasks: Vec<Task>,
    clock: Clock,
}

/// A captured graph.
#[derive(Debug)]
pub(crate) struct Graph {
    serial: u64,
    pub(crate) context: Key,
    pub(crate) device: u32,
    streams: Vec<(i32, Vec<Task>)>,
    /// Launches that are not over, by number: they run one after the other, in the order of their
    /// calls.
    launches: BTreeSet<u64>,
}

/// Tasks of a graph that can be updated together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskGroup {
    graph: u64,
    stream: usize,
    first: usize,
    count: usize,
}

impl Capture {
    fn position(&self, key: Key) -> Option<usize> {
        self.streams.iter().position(|stream| stream.key == key)
    }

    fn join(&mut self, key: Key, id: i32) {
        self.streams.push(CapturedStream {
            key,
            id,
            tasks: Vec::new(),
            clock: Clock::new(),
        });
    }
}

impl World {
    pub(crate) fn begin_capture(&mut self, key: Key, mode: u32, thread: u64) -> Outcome {
        let serial = self.serial();
        let stream = self.streams.get_mut(key)?;
        if stream.default {
            return Fault::err(
                code::STREAM_CAPTURE_IMPLICIT,
                "EE1017: the default stream cannot be captured",
            );
        }
        if mode > 2 {
            return Fault::err(code::PARAM_INVALID, "EE1003: the capture mode is 0, 1 or 2");
        }
        if stream.capture.is_some() {
            return Fault::err(
                code::STREAM_CAPTURED,
                "EE1017: the stream is already captured",
            );
        }
        stream.capture = Some(serial);
        let id = stream.id;
        let mut capture = Capture {
            origin: key,
            mode,
            thread,
            streams: Vec::new(),
            records: BTreeMap::new(),
            next: 0,
            group: None,
            external: BTreeSet::new(),
        };
        capture.join(key, id);
        self.captures.insert(serial, capture);
        Ok(())
    }

    fn capture(&mut self, serial: u64) -> Outcome<&mut Capture> {
        self.captures
            .get_mut(&serial)
            .ok_or_else(|| Fault::new(code::INTERNAL, "the capture is gone"))
    }

    /// Adds a task to the capture of its stream.
    pub(crate) fn add_captured(&mut self, serial: u64, key: Key, mut task: Task) -> Outcome {
        let capture = self.capture(serial)?;
        if capture.group.is_some_and(|(stream, _)| stream != key) {
            return Fault::err(
                code::TASK_GROUP_INTERRUPTED,
                "EE1017: a task group is open on another stream of the capture",
            );
        }
        task.issue = (0, capture.next);
        capture.next += 1;
        let record = match &task.work {
            Work::Record(record) => Some(Arc::as_ptr(record).addr()),
            _ => None,
        };
        let position = capture.position(key);
        let Some(stream) = position.and_then(|at| capture.streams.get_mut(at)) else {
            return Fault::err(code::INTERNAL, "the stream is not in the capture");
        };
        stream.tasks.push(task);
        stream.clock.insert(key, stream.tasks.len());
        if let Some(record) = record {
            let clock = stream.clock.clone();
            capture.records.insert(record, clock);
        }
        Ok(())
    }

    /// Makes `key` wait for a record of a capture, and join the capture if it is not in it.
    pub(crate) fn wait_captured(&mut self, serial: u64, key: Key, record: &Arc<Record>) -> Outcome {
        let stream = self.streams.get(key)?;
        let id = stream.id;
        match stream.capture {
            Some(own) if own == serial && record.stream == key => return Ok(()),
            Some(own) if own == serial => {}
            Some(_) => {
                return Fault::err(
                    code::CAPTURE_CONFLICT,
                    "EE1017: the event was recorded in another capture",
                );
            }
            None if stream.default => {
                return Fault::err(
                    code::STREAM_CAPTURE_IMPLICIT,
                    "EE1017: the default stream cannot be captured",
                );
            }
            None => {
                self.capture(serial)?.join(key, id);
                self.streams.get_mut(key)?.capture = Some(serial);
            }
        }
        let work = Work::Wait(Arc::clone(record), None);
        self.add_captured(
            serial,
            key,
            Task {
                issue: (0, 0),
                work,
                shape: Default::default(),
            },
        )?;
        let capture = self.capture(serial)?;
        let before = capture
            .records
            .get(&Arc::as_ptr(record).addr())
            .cloned()
            .unwrap_or_default();
        if let Some(at) = capture.position(key) {
            let clock = &mut capture.streams[at].clock;
            for (stream, count) in before {
                let own = clock.entry(stream).or_default();
                *own = count.max(*own);
            }
        }
        Ok(())
    }

    pub(crate) fn end_capture(&mut self, key: Key, thread: u64) -> Outcome<Key> {
        let stream = self.streams.get(key)?;
        let (context, device) = (stream.context, stream.device);
        let Some(serial) = stream.capture else {
            return Fault::err(
                code::STREAM_NOT_CAPTURED,
                "EE1017: the stream is not captured",
            );
        };
        let capture = self.capture(serial)?;
        if capture.origin != key {
            return Fault::err(
                code::CAPTURE_UNMATCHED,
                "EE1017: a capture ends on the stream on which it began",
            );
        }
        if capture.mode != 2 && capture.thread != thread {
            return Fault::err(
                code::CAPTURE_WRONG_THREAD,
                "EE1017: a capture ends on the thread on which it began",
            );
        }
        let Some(capture) = self.captures.remove(&serial) else {
            return Fault::err(code::INTERNAL, "the capture is gone");
        };
        for captured in &capture.streams {
            if let Some(stream) = self.streams.find(captured.key) {
                stream.capture = None;
            }
        }
        self.forget_records(serial);
        if capture.group.is_some() {
            return Fault::err(
                code::TASK_GROUP_STATUS,
                "EE1017: a task group is still open",
            );
        }
        let origin = &capture.streams[0];
        let unjoined = capture
            .streams
            .iter()
            .skip(1)
            .find(|side| origin.clock.get(&side.key).copied().unwrap_or(0) < side.tasks.len());
        if let Some(side) = unjoined {
            return Fault::err(
                code::STREAM_UNJOINED,
                format!(
                    "EE1017: stream {} did not return to the origin stream",
                    side.id
                ),
            );
        }
        let streams = capture
            .streams
            .into_iter()
            .map(|side| (side.id, side.tasks))
            .collect();
        Ok(self.graphs.insert(Graph {
            serial,
            context,
            device,
            streams,
            launches: BTreeSet::new(),
        }))
    }

    /// Outside, records made in a capture never were.
    fn forget_records(&mut self, serial: u64) {
        for event in self.events.values_mut() {
            let of = event.captured.as_ref().and_then(|record| record.capture);
            if of == Some(serial) {
                event.captured = None;
            }
        }
    }

    /// Notes an external use of an event in a capture: once per event and graph.
    pub(crate) fn use_external(&mut self, serial: u64, event: Key) -> Outcome {
        if self.capture(serial)?.external.insert(event) {
            return Ok(());
        }
        Fault::err(
            code::PARAM_INVALID,
            "EE1017: the event is external in this graph already",
        )
    }

    pub(crate) fn begin_group(&mut self, key: Key) -> Outcome {
        if self.config.old_firmware {
            return Fault::err(
                code::FEATURE_NOT_SUPPORT,
                "EE1006: task update needs newer firmware",
            );
        }
        let Some(serial) = self.streams.get(key)?.capture else {
            return Fault::err(
                code::STREAM_NOT_CAPTURED,
                "EE1017: the stream is not captured",
            );
        };
        let capture = self.capture(serial)?;
        if capture.group.is_some() {
            return Fault::err(
                code::TASK_GROUP_STATUS,
                "EE1017: a task group is already open",
            );
        }
        let first = capture
            .position(key)
            .map_or(0, |at| capture.streams[at].tasks.len());
        capture.group = Some((key, first));
        Ok(())
    }

    pub(crate) fn end_group(&mut self, key: Key) -> Outcome<Key> {
        let Some(serial) = self.streams.get(key)?.capture else {
            return Fault::err(
                code::STREAM_NOT_CAPTURED,
                "EE1017: the stream is not captured",
            );
        };
        let capture = self.capture(serial)?;
        let (Some((stream, first)), Some(at)) = (capture.group, capture.position(key)) else {
            return Fault::err(code::TASK_GROUP_STATUS, "EE1017: no task group is open");
        };
        if stream != key {
            return Fault::err(
                code::TASK_GROUP_STATUS,
                "EE1017: the group is on another stream",
            );
        }
        capture.group = None;
        let count = capture.streams[at].tasks.len() - first;
        Ok(self.groups.insert(TaskGroup {
            graph: serial,
            stream: at,
            first,
            count,
        }))
    }

    pub(crate) fn begin_update(&mut self, key: Key, group: Key) -> Outcome {
        if self.config.old_firmware {
            return Fault::err(
                code::FEATURE_NOT_SUPPORT,
                "EE1006: task update needs newer firmware",
            );
        }
        self.groups.get(group)?;
        let stream = self.streams.get_mut(key)?;
        if stream.capture.is_some() {
            return Fault::err(
                code::STREAM_CAPTURED,
                "EE1017: the updating stream is captured",
            );
        }
        if stream.update.is_some() {
            return Fault::err(code::TASK_GROUP_STATUS, "EE1017: an update is already open");
        }
        stream.update = Some((group, Vec::new()));
        Ok(())
    }

    pub(crate) fn end_update(&mut self, key: Key) -> Outcome {
        let Some((group, tasks)) = self.streams.get_mut(key)?.update.take() else {
            return Fault::err(
                code::TASK_GROUP_STATUS,
                "EE1017: no update is open on the stream",
            );
        };
        let group = *self.groups.get(group)?;
        let found = self
            .graphs
            .iter()
            .find(|(_, graph)| graph.serial == group.graph);
        let Some((graph, _)) = found else {
            return Fault::err(
                code::PARAM_INVALID,
                "EE1017: the graph of the group is gone",
            );
        };
        let graph = self.graphs.get_mut(graph)?;
        let old = &mut graph.streams[group.stream].1[group.first..group.first + group.count];
        let same = old.len() == tasks.len()
            && old
                .iter()
                .zip(&tasks)
                .all(|(old, new)| old.work.kind() == new.work.kind());
        if !same {
            return Fault::err(
                code::PARAM_INVALID,
                "EE1017: an update has the number and kinds of tasks of its group",
            );
        }
        for (old, new) in old.iter_mut().zip(tasks) {
            let issue = old.issue;
            *old = Task { issue, ..new };
        }
        Ok(())
    }

    /// Makes the streams of one replay, to be started when the launch is at the head of `launch`.
    pub(crate) fn instantiate(&mut self, graph: Key, launch: Key) -> Outcome<Task> {
        let serial = self.serial();
        let captured = self.graphs.get_mut(graph)?;
        captured.launches.insert(serial);
        let (context, device) = (captured.context, captured.device);
        let streams: Vec<(i32, Vec<Task>)> = captured.streams.clone();
        let keys: Vec<Key> = streams
            .iter()
            .map(|(id, _)| {
                let mut stream = Stream::new(context, device, *id);
                stream.parent = Some(launch);
                self.streams.insert(stream)
            })
            .collect();
        let mut tasks: Vec<(Key, i32, Task)> = Vec::new();
        for ((id, captured), key) in streams.into_iter().zip(&keys) {
            tasks.extend(captured.into_iter().map(|task| (*key, id, task)));
        }
        // In the order in which they were captured, over all streams: collectives are matched and
        // events bound in the order of their calls.
        tasks.sort_by_key(|(_, _, task)| task.issue);
        let mut renewed: BTreeMap<usize, Arc<Record>> = BTreeMap::new();
        for (key, id, mut task) in tasks {
            let Some(work) = self.renew(task.work, key, id, &mut renewed)? else {
                continue;
            };
            task.work = work;
            task.issue.0 = serial;
            let stream = self.streams.get_mut(key)?;
            stream.entries += task.work.entries();
            stream.queue.push_back(task);
        }
        let work = Work::Replay {
            graph,
            number: serial,
            streams: keys,
        };
        Ok(Task {
            issue: (serial, u32::MAX),
            work,
            shape: Default::default(),
        })
    }

    /// A captured task as it is in one replay; none if it does nothing there.
    fn renew(
        &mut self,
        work: Work,
        key: Key,
        id: i32,
        renewed: &mut BTreeMap<usize, Arc<Record>>,
    ) -> Outcome<Option<Work>> {
        let mut own = |record: &Arc<Record>| {
            let new = || Record::new(record.event, record.stream, record.stream_id, None, None);
            Arc::clone(
                renewed
                    .entry(Arc::as_ptr(record).addr())
                    .or_insert_with(new),
            )
        };
        Ok(Some(match work {
            Work::Record(record) => Work::Record(own(&record)),
            Work::Wait(record, timeout) => Work::Wait(own(&record), timeout),
            Work::RecordExternal(event) => {
                let record = Record::new(event, key, id, None, None);
                if let Some(event) = self.events.find(event) {
                    event.latest = Some(Arc::clone(&record));
                }
                Work::Record(record)
            }
            Work::WaitExternal(event) => {
                let event = self.events.find(event);
                match event.and_then(|event| event.latest.clone()) {
                    Some(record) if record.time().is_none() => Work::Wait(record, None),
                    _ => return Ok(None),
                }
            }
            Work::Collective(mut task) => {
                self.meetings.appoint(&mut task);
                Work::Collective(task)
            }
            Work::SetFlag(flag, record) => Work::SetFlag(flag, own(&record)),
            other => other,
        }))
    }

    /// Whether the launch is the next of its graph.
    pub(crate) fn may_replay(&self, graph: Key, number: u64) -> bool {
        let graph = self.graphs.get(graph);
        graph.is_ok_and(|graph| graph.launches.first() == Some(&number))
    }

    pub(crate) fn start_replay(&mut self, launch: Key, streams: &[Key]) {
        for key in streams {
            if self
                .streams
                .get(*key)
                .is_ok_and(|stream| !stream.queue.is_empty())
            {
                self.active.insert(*key);
            }
        }
        self.replay_advanced(launch);
    }

    /// Ends the replay at the head of `launch` if all its streams are done.
    pub(crate) fn replay_advanced(&mut self, launch: Key) {
        let head = self
            .streams
            .get(launch)
            .ok()
            .and_then(|stream| stream.queue.front());
        let Some(Task {
            work:
                Work::Replay {
                    graph,
                    number,
                    streams,
                },
            ..
        }) = head
        else {
            return;
        };
        let (graph, number, streams) = (*graph, *number, streams.clone());
        let busy = |key: &Key| {
            self.streams
                .get(*key)
                .is_ok_and(|stream| !stream.queue.is_empty())
        };
        if streams.iter().any(busy) {
            return;
        }
        let dropped = self.cancel_replay(graph, number, &streams);
        self.end(launch, dropped);
    }

    /// Drops the streams of a replay.
    pub(crate) fn cancel_replay(&mut self, graph: Key, number: u64, streams: &[Key]) -> Outcome {
        if let Some(graph) = self.graphs.find(graph) {
            graph.launches.remove(&number);
        }
        streams.iter().try_for_each(|key| self.drop_stream(*key))
    }

    pub(crate) fn destroy_graph(&mut self, key: Key) -> Outcome {
        if !self.graphs.get(key)?.launches.is_empty() {
            return Fault::err(code::MODEL_RUNNING, "EE1017: the graph is running");
        }
        let graph = self.graphs.remove(key)?;
        let groups: Vec<Key> = self
            .groups
            .iter()
            .filter(|(_, group)| group.graph == graph.serial)
            .map(|(key, _)| key)
            .collect();
        groups
            .into_iter()
            .try_for_each(|key| self.groups.remove(key).map(drop))
    }
}
