//! A schedule to measure submission with, and its certificate.

use ascsim_schedules::hash::structure_hash;
use ascsim_schedules::{
    Certificate, Event, Extra, Kernel, Limits, Op, OpKind, Program, RankGroup, Record, Schedule,
    Stream, Wait,
};

/// How often the pattern is repeated; it has six ops.
pub(crate) const LAYERS: usize = 500;

/// A schedule of two streams with a fork, a kernel on each, and a join, many times over.
pub(crate) fn schedule() -> Schedule {
    let stream = |name: &str| Stream {
        name: name.into(),
        owner: Default::default(),
        priority: None,
        core_limit: None,
        extra: Extra::default(),
    };
    let mut ops = Vec::new();
    for layer in 0..LAYERS {
        let mut add = |what: &str, stream: &str, kind| {
            let mut op = Op::new(format!("{what}{layer}"), kind);
            op.stream = Some(stream.into());
            ops.push(op);
        };
        let kernel = || {
            let (name, extra) = ("Mix".into(), Extra::default());
            OpKind::Kernel(Kernel {
                name,
                dynamic: false,
                extra,
            })
        };
        let record = |event: &str| {
            let (event, extra) = (event.into(), Extra::default());
            OpKind::Record(Record {
                event,
                external: false,
                extra,
            })
        };
        let wait = |event: &str| {
            let (event, extra) = (event.into(), Extra::default());
            OpKind::Wait(Wait {
                event,
                external: false,
                timeout_s: None,
                extra,
            })
        };
        add("fork", "main", record("fork"));
        add("forked", "side", wait("fork"));
        add("side", "side", kernel());
        add("main", "main", kernel());
        add("join", "side", record("join"));
        add("joined", "main", wait("join"));
    }
    let event = |name: &str| Event {
        name: name.into(),
        kind: Default::default(),
        extra: Extra::default(),
    };
    Schedule {
        name: "layers".into(),
        streams: vec![stream("main"), stream("side")],
        events: vec![event("fork"), event("join")],
        programs: vec![Program {
            name: "step".into(),
            capture: None,
            ops,
            extra: Extra::default(),
        }],
        ranks: vec![RankGroup {
            first: 0,
            count: 1,
            program: Some("step".into()),
            devices: Vec::new(),
            overrides: Vec::new(),
            extra: Extra::default(),
        }],
        ..Schedule::default()
    }
}

pub(crate) fn certificate(schedule: &Schedule) -> Certificate {
    Certificate {
        format: Certificate::FORMAT.into(),
        structure: structure_hash(schedule).to_string(),
        checker: "test".into(),
        profile: "test".into(),
        device_class: "Ascend910_93".into(),
        limits: Limits::default(),
        findings: Vec::new(),
        extra: Extra::default(),
    }
}
