//! Captured programs: what ACL refuses between begin and end of a capture.
//!
//! These rules look at a program as such, since a replay shows no host calls (facts/acl.md
//! section 10).

use std::collections::{HashMap, HashSet};

use ascsim_schedules::{
    Capture, CaptureMode, EventKind, HostKind, Op, OpKind, Owner, Program, Schedule, SyncTarget,
};

use crate::context::Context;
use crate::finding::{Finding, Place};
use crate::rule::Rule;

pub(crate) fn find(context: &Context<'_, '_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for program in &context.schedule.programs {
        if let Some(capture) = &program.capture {
            let mut body = Vec::new();
            inline(context.schedule, program, &mut body, 0);
            let body = Body {
                schedule: context.schedule,
                program,
                capture,
                ops: body,
            };
            body.calls(&mut found);
            body.joins(&mut found);
        }
    }
    found
}

/// The ops of a program with those that it repeats in their place, each once.
fn inline<'s>(
    schedule: &'s Schedule,
    program: &'s Program,
    ops: &mut Vec<(&'s Program, &'s Op)>,
    depth: usize,
) {
    for op in &program.ops {
        let OpKind::Repeat(repeat) = &op.kind else {
            ops.push((program, op));
            continue;
        };
        let inner = schedule
            .programs
            .iter()
            .find(|program| program.name == repeat.program);
        if let Some(inner) = inner
            && depth < 64
        {
            inline(schedule, inner, ops, depth + 1);
        }
    }
}

struct Body<'s> {
    schedule: &'s Schedule,
    program: &'s Program,
    capture: &'s Capture,
    ops: Vec<(&'s Program, &'s Op)>,
}

impl<'s> Body<'s> {
    fn place(&self, at: usize) -> Place {
        let (program, op) = self.ops[at];
        Place {
            rank: None,
            program: program.name.to_string(),
            op: op.id.to_string(),
            path: format!("{}/{}", self.program.name, op.id),
            stream: op.stream.as_ref().map(ToString::to_string),
        }
    }

    fn finding(&self, rule: Rule, at: usize, message: String) -> Finding {
        let mut finding = Finding::new(rule, message);
        finding.ops.push(self.place(at));
        finding
    }

    fn name(&self, at: usize) -> String {
        format!("`{}`", self.place(at).path)
    }

    fn stream(&self, at: usize) -> Option<&'s str> {
        self.ops[at].1.stream.as_ref().map(|name| name.as_str())
    }

    fn event_kind(&self, name: &str) -> EventKind {
        let event = self
            .schedule
            .events
            .iter()
            .find(|event| event.name.as_str() == name);
        event.map_or(EventKind::Ex, |event| event.kind)
    }

    /// Streams that the capture takes part in.
    fn streams(&self) -> HashSet<&'s str> {
        let device = |(_, op): &&(&'s Program, &'s Op)| op.is_device();
        let named = self
            .ops
            .iter()
            .filter(device)
            .filter_map(|(_, op)| op.stream.as_ref());
        let mut streams: HashSet<&str> = named.map(|name| name.as_str()).collect();
        streams.insert(self.capture.origin.as_str());
        streams
    }

    /// Single calls.
    fn calls(&self, found: &mut Vec<Finding>) {
        let streams = self.streams();
        let mut recorded: HashSet<&str> = HashSet::new();
        let mut default_told = false;
        for at in 0..self.ops.len() {
            let op = self.ops[at].1;
            let is_default = |name: &&str| {
                let stream = self
                    .schedule
                    .streams
                    .iter()
                    .find(|s| s.name.as_str() == *name);
                stream.is_some_and(|stream| stream.owner == Owner::Default)
            };
            if op.is_device()
                && let Some(name) = self.stream(at).filter(is_default)
                && !default_told
            {
                default_told = true;
                let message = format!(
                    "{} is on `{name}`, the default stream, which cannot be captured (107031)",
                    self.name(at)
                );
                let finding = self.finding(Rule::AclCaptureDefaultStream, at, message);
                found.push(finding.suggest("capture on a stream of its own"));
            }
            match &op.kind {
                OpKind::Record(record) => {
                    recorded.insert(record.event.as_str());
                }
                OpKind::Wait(wait) if !wait.external => {
                    let event = wait.event.as_str();
                    let ex = self.event_kind(event) == EventKind::Ex;
                    if ex && !recorded.contains(event) && self.recorded_outside(event) {
                        let message = format!(
                            "{} waits inside the capture for `{event}`, which is recorded outside (107024)",
                            self.name(at)
                        );
                        let finding = self.finding(Rule::AclCaptureForeignWait, at, message);
                        found.push(finding.suggest(
                            "set `external` on the wait, or use an `external` event recorded for each replay",
                        ));
                    }
                }
                OpKind::Host(HostKind::Synchronise(target)) => {
                    let refused = match target {
                        SyncTarget::Device => true,
                        SyncTarget::Stream(name) => streams.contains(name.as_str()),
                        SyncTarget::Event(name) => recorded.contains(name.as_str()),
                    };
                    if refused {
                        let message = format!(
                            "{} synchronises inside the capture with what is being captured (107027)",
                            self.name(at)
                        );
                        let finding = self.finding(Rule::AclCaptureSync, at, message);
                        found.push(finding.suggest("synchronise after the launch instead"));
                    }
                }
                OpKind::Copy(copy) if copy.blocking && self.capture.mode == CaptureMode::Global => {
                    let message = format!(
                        "{} copies synchronously or from pageable memory inside a global capture (107030, 107041)",
                        self.name(at)
                    );
                    let finding = self.finding(Rule::AclCaptureBlockingCopy, at, message);
                    found.push(
                        finding.suggest(
                            "use pinned memory and an asynchronous copy, or capture relaxed",
                        ),
                    );
                }
                _ => {}
            }
        }
    }

    fn recorded_outside(&self, event: &str) -> bool {
        let inside = |op: &Op| self.ops.iter().any(|(_, own)| std::ptr::eq(*own, op));
        let records = |op: &Op| match &op.kind {
            OpKind::Record(record) => record.event.as_str() == event,
            OpKind::Host(HostKind::RecordExternal { event: name }) => name.as_str() == event,
            _ => false,
        };
        let mut ops = self
            .schedule
            .programs
            .iter()
            .flat_map(|program| &program.ops);
        ops.any(|op| records(op) && !inside(op))
    }

    /// Side streams join the capture by a wait and come back to its origin.
    fn joins(&self, found: &mut Vec<Finding>) {
        let origin = self.capture.origin.as_str();
        // Per event: where it was recorded last.
        let mut recorded: HashMap<&str, usize> = HashMap::new();
        let mut joined: HashSet<&str> = HashSet::from([origin]);
        let mut first: HashMap<&str, usize> = HashMap::new();
        let mut last: HashMap<&str, usize> = HashMap::new();
        // Per op: the op that a wait gets its record from.
        let mut from: HashMap<usize, usize> = HashMap::new();
        for at in 0..self.ops.len() {
            let op = self.ops[at].1;
            let (Some(stream), true) = (self.stream(at), op.is_device()) else {
                continue;
            };
            match &op.kind {
                OpKind::Record(record) if !record.external => {
                    recorded.insert(record.event.as_str(), at);
                }
                OpKind::Wait(wait) if !wait.external => {
                    if let Some(&record) = recorded.get(wait.event.as_str()) {
                        from.insert(at, record);
                        if self.stream(record).is_some_and(|of| joined.contains(of)) {
                            joined.insert(stream);
                        }
                    }
                }
                _ => {}
            }
            if !joined.contains(stream) {
                first.entry(stream).or_insert(at);
            }
            last.insert(stream, at);
        }
        let mut outside: Vec<usize> = first.into_values().collect();
        outside.sort_unstable();
        for at in outside {
            let stream = self.stream(at).unwrap_or_default();
            let message = format!(
                "{} is the first op of `{stream}` in the capture, but the stream has not joined it: it runs at once and is not captured",
                self.name(at)
            );
            let finding = self.finding(Rule::AclCaptureUnjoined, at, message);
            found.push(finding.suggest(format!(
                "record an event on `{origin}` and wait for it on `{stream}` first"
            )));
        }
        // Backwards from the end of the origin: what is certainly before it.
        let mut returned: HashMap<&str, usize> = HashMap::new();
        if let Some(&end) = last.get(origin) {
            returned.insert(origin, end);
        }
        for at in (0..self.ops.len()).rev() {
            let Some(stream) = self.stream(at) else {
                continue;
            };
            if let Some(&record) = from.get(&at)
                && returned.get(stream).is_some_and(|&end| at <= end)
                && let Some(of) = self.stream(record)
            {
                let end = returned.entry(of).or_insert(record);
                *end = (*end).max(record);
            }
        }
        let mut open: Vec<usize> = last
            .iter()
            .filter(|(stream, _)| joined.contains(**stream) && **stream != origin)
            .filter(|(stream, end)| returned.get(**stream).is_none_or(|back| back < *end))
            .map(|(_, &end)| end)
            .collect();
        open.sort_unstable();
        for at in open {
            let stream = self.stream(at).unwrap_or_default();
            let message = format!(
                "{} on `{stream}` is not waited for by `{origin}` before the capture ends (107025)",
                self.name(at)
            );
            let finding = self.finding(Rule::AclCaptureUnjoined, at, message);
            found.push(finding.suggest(format!(
                "record an event after the last op of `{stream}` and wait for it on `{origin}`"
            )));
        }
    }
}
