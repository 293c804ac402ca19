//! An op in a line of a table.

use std::fmt::{self, Write};

use crate::ir::{
    Cores, Distribution, EventKind, Expansion, HostKind, Measured, Op, OpKind, Peer, Provenance,
    ScheduleMode, SyncTarget, Tags,
};

/// Text on one line: control characters are escaped, and an empty text is seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain<'a>(pub(super) &'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("``");
        }
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        for c in self.0.chars() {
            match c {
                c if breaks(c) => write!(f, "{}", c.escape_default())?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// The cells of an op that does `what`.
pub(super) fn row(number: &str, op: &Op, what: String) -> Vec<String> {
    let plain = |text: &str| Plain(text).to_string();
    let stream = op.stream.as_ref().map(|stream| plain(stream.as_str()));
    vec![
        number.to_owned(),
        plain(op.id.as_str()),
        plain(op.thread.as_str()),
        stream.unwrap_or_default(),
        what,
        op.cores.as_ref().map(cores).unwrap_or_default(),
        op.duration.as_deref().map(time).unwrap_or_default(),
        tags(&op.tags),
    ]
}

/// The kind of an op and its object.
pub(super) fn object(op: &Op) -> String {
    let mut text = op.kind.name().to_owned();
    // Writing to a string does not fail.
    let written = write_object(&mut text, op);
    debug_assert!(written.is_ok());
    text
}

fn write_object(out: &mut String, op: &Op) -> fmt::Result {
    let timeout = |out: &mut String, timeout: Option<u32>| match timeout {
        Some(seconds) => write!(out, " for {seconds} s"),
        None => Ok(()),
    };
    let external = |flag: bool| if flag { " external" } else { "" };
    match &op.kind {
        OpKind::Kernel(kernel) => {
            let dynamic = if kernel.dynamic { " dynamic" } else { "" };
            write!(out, " {}{dynamic}", Plain(&kernel.name))?;
        }
        OpKind::Copy(copy) => {
            let blocking = if copy.blocking { " blocking" } else { "" };
            let direction = match copy.direction {
                crate::ir::CopyDirection::HostToDevice => "host to device",
                crate::ir::CopyDirection::DeviceToHost => "device to host",
                crate::ir::CopyDirection::DeviceToDevice => "device to device",
                crate::ir::CopyDirection::Peer => "peer",
            };
            write!(out, " {direction} {} B{blocking}", copy.bytes)?;
        }
        OpKind::Prefetch(prefetch) => {
            let buffer = Plain(prefetch.buffer.as_str());
            write!(out, " {buffer}+{} {} B", prefetch.offset, prefetch.bytes)?;
        }
        OpKind::Collective(_) => {}
        OpKind::Record(record) | OpKind::EventReset(record) => {
            let event = Plain(record.event.as_str());
            write!(out, " {event}{}", external(record.external))?;
        }
        OpKind::Wait(wait) => {
            let event = Plain(wait.event.as_str());
            write!(out, " {event}{}", external(wait.external))?;
            timeout(out, wait.timeout_s)?;
        }
        OpKind::NotifyRecord(record) => {
            write!(out, " {}", Plain(record.notify.as_str()))?;
            peer(out, &record.peer)?;
        }
        OpKind::NotifyWait(wait) => {
            write!(out, " {}", Plain(wait.notify.as_str()))?;
            timeout(out, wait.timeout_s)?;
        }
        OpKind::ValueWrite(write) => {
            let buffer = Plain(write.buffer.as_str());
            write!(out, " {buffer}+{} = {}", write.offset, write.value)?;
            peer(out, &write.peer)?;
        }
        OpKind::ValueWait(wait) => {
            let compare = match wait.compare {
                crate::ir::Compare::Geq => "geq",
                crate::ir::Compare::Eq => "eq",
                crate::ir::Compare::And => "and",
                crate::ir::Compare::Nor => "nor",
            };
            let buffer = Plain(wait.buffer.as_str());
            write!(out, " {buffer}+{} {compare} {}", wait.offset, wait.value)?;
        }
        OpKind::SuperKernel(fused) => {
            let streams = if fused.stream_fusion {
                " stream-fusion"
            } else {
                ""
            };
            let feed = if fused.feed_sync_all {
                " feed-sync-all"
            } else {
                ""
            };
            write!(out, " {}{streams}{feed}", Plain(&fused.name))?;
        }
        OpKind::Group(_) => {}
        OpKind::GraphLaunch(launch) => write!(out, " {}", Plain(launch.program.as_str()))?,
        OpKind::TaskUpdate(update) => {
            write!(out, " {}", Plain(update.program.as_str()))?;
            for id in &update.ops {
                write!(out, " {}", Plain(id.as_str()))?;
            }
        }
        OpKind::Host(kind) => host(out, kind)?,
        OpKind::Alloc(buffer) | OpKind::Free(buffer) | OpKind::StreamUse(buffer) => {
            write!(out, " {}", Plain(buffer.as_str()))?;
        }
        OpKind::Repeat(repeat) => {
            let program = Plain(repeat.program.as_str());
            write!(out, " {program} x {}", repeat.count)?;
        }
    }
    if let Some(comm) = &op.comm {
        let communicator = Plain(comm.communicator.as_str());
        write!(
            out,
            " {} on {communicator} {} B",
            comm.kind.name(),
            comm.bytes
        )?;
        if let Some(peer) = comm.peer {
            write!(out, " with member {peer}")?;
        }
        if let Some(expanded) = comm.expansion {
            write!(out, " by {}", expansion(expanded))?;
        }
    }
    Ok(())
}

fn host(out: &mut String, kind: &HostKind) -> fmt::Result {
    match kind {
        HostKind::Work => out.write_str(" work"),
        HostKind::Think => out.write_str(" think"),
        HostKind::Synchronise(SyncTarget::Device) => out.write_str(" synchronise device"),
        HostKind::Synchronise(SyncTarget::Stream(stream)) => {
            write!(out, " synchronise stream {}", Plain(stream.as_str()))
        }
        HostKind::Synchronise(SyncTarget::Event(event)) => {
            write!(out, " synchronise event {}", Plain(event.as_str()))
        }
        HostKind::RecordExternal { event } => {
            write!(out, " record {} from outside", Plain(event.as_str()))
        }
        HostKind::Function { name, calls_acl } => {
            let acl = if *calls_acl { " calling ACL" } else { "" };
            write!(out, " function {}{acl}", Plain(name))
        }
    }
}

fn peer(out: &mut String, peer: &Peer) -> fmt::Result {
    match peer {
        Peer::Own => Ok(()),
        Peer::Rank(rank) => write!(out, " of rank {rank}"),
        Peer::Member {
            communicator,
            offset,
        } => {
            let communicator = Plain(communicator.as_str());
            write!(out, " of member {offset:+} in {communicator}")
        }
    }
}

fn cores(cores: &Cores) -> String {
    let engines = [
        (cores.aic, "aic"),
        (cores.aiv, "aiv"),
        (cores.aicpu, "aicpu"),
        (cores.sdma, "sdma"),
    ];
    let used = engines.into_iter().filter(|(count, _)| *count > 0);
    let mut parts: Vec<String> = used
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    if cores.mode == ScheduleMode::Batch {
        parts.push("batch".to_owned());
    }
    parts.join(" ")
}

fn time(time: &Measured) -> String {
    format!("{} ns {}", time.ns, provenance(time.from))
}

pub(super) fn tags(tags: &Tags) -> String {
    let pairs = tags
        .iter()
        .map(|(key, value)| format!("{}={}", Plain(key), Plain(value)));
    pairs.collect::<Vec<_>>().join(" ")
}

pub(super) fn provenance(provenance: Provenance) -> &'static str {
    match provenance {
        Provenance::Measured => "measured",
        Provenance::Derived => "derived",
        Provenance::Stated => "stated",
        Provenance::Modelled => "modelled",
        Provenance::Assumed => "assumed",
    }
}

pub(super) fn distribution(distribution: &Distribution) -> &'static str {
    match distribution {
        Distribution::Fixed => "fixed",
        Distribution::Uniform { .. } => "uniform",
        Distribution::Triangular { .. } => "triangular",
        Distribution::Discrete { .. } => "discrete",
        Distribution::Rows { .. } => "rows",
        Distribution::Routing { .. } => "routing",
        Distribution::Acceptance { .. } => "acceptance",
    }
}

pub(super) fn event_kind(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Ex => "ex",
        EventKind::Default => "default",
        EventKind::Sync => "sync",
        EventKind::External => "external",
        EventKind::Timeline => "timeline",
    }
}

pub(super) fn expansion(expansion: Expansion) -> &'static str {
    match expansion {
        Expansion::AiCpu => "ai_cpu",
        Expansion::Aiv => "aiv",
        Expansion::Host => "host",
        Expansion::Ffts => "ffts",
    }
}
