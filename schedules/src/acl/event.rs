//! Records and waits: the key table of facts/acl.md section 3.

use std::collections::BTreeSet;

use super::machine::{Machine, Outcome};
use super::state::{EventState, RecordId, TaskKind};
use super::{AclError, Event, Reply, Stream};
use crate::ir::EventKind;

impl Machine {
    pub(super) fn record(
        &mut self,
        stream: Stream,
        event: Event,
        external: bool,
        tag: Option<u32>,
    ) -> Outcome {
        let EventState { kind, device, .. } = *self.event(event)?;
        let capture = self.streams[stream.index()].capture;
        match kind {
            EventKind::Default | EventKind::Sync if capture.is_some() => {
                Err(AclError::FEATURE_NOT_SUPPORT)
            }
            EventKind::Sync | EventKind::External => {
                let reply = self.enqueue(stream, tag, TaskKind::SetFlag(event))?;
                if reply == Reply::DONE && capture.is_none() {
                    self.events[event.index()].latest = self.last_of(stream);
                }
                Ok(reply)
            }
            EventKind::Ex | EventKind::Default | EventKind::Timeline => {
                if let Some(capture) = capture {
                    if external {
                        self.use_external(capture, event)?;
                        return self.enqueue(stream, tag, TaskKind::RecordExternal(event));
                    }
                    let record = self.next_captured(capture, stream);
                    self.events[event.index()].captured = Some((capture, record));
                    return self.enqueue(stream, tag, TaskKind::Record(event));
                }
                if kind != EventKind::Timeline {
                    let (used, reclaimable) = self.event_ids(device);
                    if used >= self.config.event_ids as usize {
                        return match reclaimable {
                            true => Ok(Reply::Blocks),
                            false => Err(AclError::NO_EVENT_RESOURCE),
                        };
                    }
                }
                let reply = self.enqueue(stream, tag, TaskKind::Record(event))?;
                if reply == Reply::DONE {
                    let last = self.last_of(stream);
                    let state = &mut self.events[event.index()];
                    state.latest = last;
                    state.captured = None;
                }
                Ok(reply)
            }
        }
    }

    pub(super) fn wait(
        &mut self,
        stream: Stream,
        event: Event,
        external: bool,
        tag: Option<u32>,
    ) -> Outcome {
        let EventState {
            kind,
            latest,
            captured,
            ..
        } = *self.event(event)?;
        let capture = self.streams[stream.index()].capture;
        match (kind, capture) {
            (EventKind::Timeline, _) => Err(AclError::FEATURE_NOT_SUPPORT),
            (EventKind::Default | EventKind::Sync, Some(_)) => Err(AclError::FEATURE_NOT_SUPPORT),
            (EventKind::Sync | EventKind::External, _) => {
                self.enqueue(stream, tag, TaskKind::WaitFlag(event))
            }
            (EventKind::Ex, Some(capture)) => {
                if external {
                    self.use_external(capture, event)?;
                    return self.enqueue(stream, tag, TaskKind::WaitExternal(event));
                }
                match captured {
                    Some((of, record)) if of == capture => {
                        self.wait_captured(capture, stream, event, record, tag)
                    }
                    Some(_) => Err(AclError::CAPTURE_CONFLICT),
                    None if latest.is_some() => Err(AclError::CAPTURE_DEPENDENCY),
                    None => Ok(Reply::DONE),
                }
            }
            (EventKind::Ex | EventKind::Default, None) => {
                if let Some((capture, record)) = captured {
                    self.join_capture(capture, stream)?;
                    return self.wait_captured(capture, stream, event, record, tag);
                }
                match latest {
                    None if kind == EventKind::Default => Err(AclError::PARAM_INVALID),
                    None => Ok(Reply::DONE),
                    Some(record) if self.is_done(record) => Ok(Reply::DONE),
                    // Ids count per device, which loses waits across devices.
                    Some(record)
                        if kind == EventKind::Ex
                            && self.local(record) == self.streams[stream.index()].local =>
                    {
                        Ok(Reply::DONE)
                    }
                    Some(record) => self.enqueue(stream, tag, TaskKind::Wait { event, record }),
                }
            }
        }
    }

    fn local(&self, record: RecordId) -> u32 {
        self.streams[record.stream.index()].local
    }

    fn wait_captured(
        &mut self,
        capture: usize,
        stream: Stream,
        event: Event,
        record: RecordId,
        tag: Option<u32>,
    ) -> Outcome {
        if self.next_captured(capture, stream).stream == record.stream {
            return Ok(Reply::DONE);
        }
        self.enqueue(stream, tag, TaskKind::Wait { event, record })
    }

    /// Ids in use on a device, and whether some come back as tasks retire. Flag events hold one each
    /// while they live or are used; a record of the others holds one until it and its waits retire.
    pub(super) fn event_ids(&self, device: u32) -> (usize, bool) {
        let mut flags: BTreeSet<Event> = BTreeSet::new();
        for (index, state) in self.events.iter().enumerate() {
            if state.alive && state.kind.is_flag() && state.device == device {
                flags.insert(Event(index as u32));
            }
        }
        let living = flags.len();
        let mut records: BTreeSet<RecordId> = BTreeSet::new();
        for (index, state) in self.streams.iter().enumerate() {
            for (at, task) in state.queue.iter().enumerate() {
                let own = |event: Event| self.events[event.index()].device == device;
                match task.kind {
                    TaskKind::Record(event)
                        if own(event) && self.events[event.index()].kind != EventKind::Timeline =>
                    {
                        records.insert(RecordId {
                            stream: Stream(index as u32),
                            nth: state.retired + at as u32,
                        });
                    }
                    TaskKind::Wait { event, record } if own(event) => {
                        records.insert(record);
                    }
                    TaskKind::SetFlag(event)
                    | TaskKind::WaitFlag(event)
                    | TaskKind::ResetFlag(event)
                        if own(event) =>
                    {
                        flags.insert(event);
                    }
                    _ => {}
                }
            }
        }
        let used = flags.len() + records.len();
        (used, used > living)
    }
}
