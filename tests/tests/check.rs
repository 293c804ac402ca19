//! The checker on what the other crates read: golden graphs, the library, real captures.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ascsim_check::{RaceStatus, Report, Rule, Target, check, repair};
use ascsim_schedules::builder::*;
use ascsim_schedules::{Op, Schedule, Severity};
use ascsim_tests::{shared, workspace};
use ascsim_traces::recover::{Settings, recover};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Graph {
    name: String,
    ops: Vec<Vec<Value>>,
}

/// What each kernel of the golden MoE layer reads and writes, with the producer of its input.
const DATA: [(&str, &[&str], &str); 13] = [
    ("input_norm", &[], "x"),
    ("cast_fp32", &["x"], "x32"),
    ("gate_matmul", &["x32"], "logits"),
    ("moe_gating_topk", &["logits"], "ids"),
    ("dispatch_v2", &["x", "ids"], "sent"),
    ("gmm1_swiglu_quant", &["sent"], "up"),
    ("gmm2", &["up"], "down"),
    ("combine_v2", &["down", "ids"], "combined"),
    ("shared_dyn_quant", &["x"], "shared_in"),
    ("shared_gate_up", &["shared_in"], "shared_up"),
    ("shared_dequant_swiglu_quant", &["shared_up"], "shared_act"),
    ("shared_down", &["shared_act"], "shared_out"),
    ("add", &["combined", "shared_out"], "out"),
];

fn declared(id: &str, stream: &str) -> Op {
    let mut op = kernel(id, id).on(stream);
    op.accesses = ascsim_schedules::Accesses::Known(Vec::new());
    let Some((_, reads, writes)) = DATA.iter().find(|(name, ..)| *name == id) else {
        return op;
    };
    reads
        .iter()
        .fold(op.writes(*writes), |op, read| op.reads(*read))
}

/// A golden graph with its data flow declared.
fn golden(name: &str) -> Option<Schedule> {
    let text = fs::read_to_string(shared()?.join(format!("golden/{name}.json"))).expect("a file");
    let graph: Graph = serde_json::from_str(&text).expect("a golden graph");
    let mut ops = Vec::new();
    if name.starts_with("moe") {
        ops.push(declared("input_norm", "S0"));
    }
    for fields in &graph.ops {
        let text = |at: usize| fields[at].as_str().expect("text");
        let (kind, stream, id) = (text(0), text(1), text(2));
        ops.push(match kind {
            "k" => declared(id, stream),
            "r" => record(id).on(stream),
            _ => wait(id).on(stream),
        });
    }
    let mut builder = ScheduleBuilder::new(&*graph.name)
        .program("layer", ops)
        .ranks(0..1, "layer");
    for (_, _, buffer) in DATA {
        builder = builder.buffer(buffer, 4_096);
    }
    Some(builder.build().expect("it is valid"))
}

fn verdict(schedule: &Schedule) -> Report {
    check(schedule, &Target::default()).expect("it unrolls")
}

fn of(report: &Report, severity: Severity) -> Vec<(Rule, String)> {
    let of = report
        .findings
        .iter()
        .filter(|finding| finding.severity == severity);
    of.map(|finding| (finding.rule, finding.ops[0].op.clone()))
        .collect()
}

#[test]
fn clean_golden_graphs_have_no_errors() {
    let names = [
        "moe_layer_serial",
        "moe_layer_overlap_w8a8",
        "moe_layer_overlap_E0only",
        "two_streams_event",
        "two_streams_no_event",
    ];
    for name in names {
        let Some(schedule) = golden(name) else { return };
        let report = verdict(&schedule);
        assert_eq!(
            of(&report, Severity::Error),
            [],
            "{name}: {:#?}",
            report.findings
        );
        assert_eq!(report.races, RaceStatus::None, "{name}");
    }
}

/// The overlap without its waits, with a producer of the layer's input.
#[test]
fn the_buggy_layer_races_and_is_mended() {
    let Some(schedule) = golden("moe_layer_overlap_nowait_BUGGY") else {
        return;
    };
    let report = verdict(&schedule);
    let errors: Vec<_> = report
        .findings
        .iter()
        .filter(|f| f.severity == Severity::Error)
        .collect();
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_eq!(
        errors[0].message,
        "`input_norm` writes and `shared_dyn_quant` reads bytes 0 to 4096 of `x`, and nothing orders them"
    );
    assert_eq!(
        errors[0].suggestion.as_deref(),
        Some("record an event after `input_norm` and wait for it before `shared_dyn_quant`")
    );
    let repaired = repair(&schedule, &Target::default()).expect("it unrolls");
    assert_eq!(of(&repaired.report, Severity::Error), []);
    assert_eq!(of(&repaired.report, Severity::Warning), []);
    assert_eq!(repaired.report.races, RaceStatus::None);
    // And what was written out and read again says the same.
    assert_eq!(
        verdict(&repaired.schedule).findings,
        repaired.report.findings
    );
}

/// vllm-ascend's serial layer records and waits on one stream (facts/schedules.md C1).
#[test]
fn the_serial_layer_has_redundant_records_and_waits() {
    let Some(schedule) = golden("moe_layer_serial") else {
        return;
    };
    let report = verdict(&schedule);
    let rules = |wanted: Rule| {
        let found = report.of(wanted).map(|finding| finding.ops[0].op.clone());
        found.collect::<Vec<_>>().len()
    };
    assert_eq!(
        rules(Rule::WasteSameStream),
        4,
        "E0, E1, E3 and E4 are waited for"
    );
    assert_eq!(
        rules(Rule::WasteRecord),
        5,
        "E2 is not, and the others order nothing"
    );
    let repaired = repair(&schedule, &Target::default()).expect("it unrolls");
    assert!(
        repaired.report.findings.is_empty(),
        "{:#?}",
        repaired.report.findings
    );
    let left = &repaired.schedule.programs[0].ops;
    assert_eq!(left.len(), 13, "kernels only");
}

#[test]
fn the_library_is_clean() {
    for name in ["moe-layer-overlap", "moe-layer-serial"] {
        let path = workspace().join(format!("schedules/library/{name}.json"));
        let bytes = fs::read(path).expect("it is part of the project");
        let schedule = ascsim_schedules::format::read(&bytes).expect("it is valid");
        let report = verdict(&schedule);
        assert_eq!(of(&report, Severity::Error), [], "{name}");
        assert_eq!(report.races, RaceStatus::None, "{name}");
    }
}

/// An imported trace: its races are unknown, the rest is checked, and nothing is wrong with it.
#[test]
fn recovered_captures_have_an_unknown_race_status_and_no_errors() {
    let Some(shared) = shared() else { return };
    let names = [
        "ddp-910b-text/level1-rank0",
        "ddp-910b-text/level1-rank1",
        "ddp-910b-text/level0-rank0",
        "ddp-910b-db/level1-rank0-clean",
        "ddp-910b-db/level2-rank0",
        "tinymlp-910b3",
        "matmul-910b3",
        "mindspore-910a-graphsink",
    ];
    let mut warned = BTreeSet::new();
    for name in names {
        let path: &Path = &shared.join("traces").join(name);
        let trace = ascsim_traces::read(path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let recovered = recover(&[&trace], Settings { step: None }).expect("something ran");
        let report = verdict(&recovered.schedule);
        assert_eq!(
            of(&report, Severity::Error),
            [],
            "{name}: {:#?}",
            report.findings
        );
        assert_eq!(report.races, RaceStatus::Unknown, "{name}");
        warned.extend(report.findings.iter().map(|finding| finding.rule));
    }
    assert!(warned.contains(&Rule::RaceUnknown));
    println!("{warned:?}");
}
