//! Reports and exports of arbitrary timelines, with hostile names.

mod exports;
mod html;

use ascsim_studies::{Lane, LaneKind, Link, LinkKind, Row, StepTimeline, Stretch, WhatIf};
use proptest::prelude::*;

/// Names that mean something to a browser, a terminal, a table or a graph.
pub(crate) fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("</script><script>window.hacked=1</script>".to_owned()),
        Just("<img src=x onerror=window.hacked=1>".to_owned()),
        Just("<!--<script>".to_owned()),
        Just("]]>&lt;&amp;\"'`${x}".to_owned()),
        Just("\u{202e}txt.exe\u{2066}\u{200f}".to_owned()),
        Just("a\u{0}b\u{1b}[2Jc\u{7f}\u{9b}d\u{2028}e".to_owned()),
        Just("=cmd|' /C calc'!A0".to_owned()),
        Just("line\nbreak\r\ttab, \"comma\"".to_owned()),
        Just("\\\"]; evil [label=\"".to_owned()),
        Just("名".repeat(40)),
        Just("x".repeat(10_000)),
        any::<String>(),
        "[a-z]{1,8}",
    ]
}

/// Timelines of any shape that a simulation may yield: rows of a lane do not overlap.
pub(crate) fn any_step() -> impl Strategy<Value = StepTimeline> {
    let row = (0_i64..3_000, 0_i64..70_000, any::<[u16; 8]>(), 0_u8..32);
    let lane = (
        hostile(),
        prop_oneof![
            Just(LaneKind::Stream),
            Just(LaneKind::Parts),
            Just(LaneKind::Thread)
        ],
        proptest::collection::vec(row, 1..12),
    );
    let lanes = proptest::collection::vec(lane, 1..6);
    let texts = proptest::collection::vec(hostile(), 1..12);
    let links = proptest::collection::vec(any::<(u16, u16, u8)>(), 0..8);
    (lanes, texts, links, 0_i64..1 << 40).prop_map(|(lanes, mut texts, links, zero)| {
        texts.insert(0, String::new());
        let mut step = StepTimeline::default();
        let kinds = [
            "kernel",
            "copy",
            "wait",
            "record",
            "notify_wait",
            "collective",
            "host",
        ];
        let first_kind = texts.len();
        texts.extend(kinds.map(str::to_owned));
        for (lane, (name, kind, rows)) in (0_u32..).zip(lanes) {
            step.lanes.push(Lane {
                rank: 3,
                name,
                kind,
            });
            let mut time = zero;
            for (gap, length, ids, engines) in rows {
                let text = |at: usize| u32::from(ids[at]) % first_kind as u32;
                let start_ns = time + gap;
                time = start_ns + length;
                step.rows.push(Row {
                    lane,
                    op: text(0),
                    name: text(1),
                    kind: (first_kind + usize::from(ids[2]) % kinds.len()) as u32,
                    tags: text(3),
                    cores: text(4),
                    provenance: text(5),
                    moves: text(6),
                    start_ns,
                    end_ns: time,
                    issued_ns: start_ns - i64::from(ids[7] % 50).min(start_ns),
                    ready_ns: start_ns - gap / 2,
                    delay_ns: gap / 3,
                    critical_ns: length.min(i64::from(ids[7])),
                    engines,
                });
                step.path.push(Stretch {
                    lane,
                    op: text(0),
                    category: text(1),
                    start_ns,
                    end_ns: time,
                });
            }
        }
        let count = step.rows.len() as u32;
        step.links = links
            .into_iter()
            .map(|(from, to, kind)| Link {
                to: u32::from(to) % count,
                from: u32::from(from) % count,
                kind: LinkKind::ALL[usize::from(kind) % LinkKind::ALL.len()],
            })
            .collect();
        step.links.sort();
        step.path.sort_by_key(|stretch| stretch.start_ns);
        step.texts = texts.into_iter().map(Into::into).collect();
        step
    })
}

/// A result with `name` wherever a file may put text.
pub(crate) fn result(name: &str) -> WhatIf {
    use serde_json::json;
    let side = json!({
        "makespan": {"ns": 5_000, "low_ns": 4_000, "high_ns": 6_000}, "first_task_ns": 10,
        "blame": [{"category": name, "ns": 5_000}],
        "critical_path": [{"rank": 0, "op": name, "category": name, "start_ns": 0, "ns": 5_000}],
        "streams": [{"rank": 0, "stream": name, "busy_ns": 5_000, "tasks": [
            {"op": name, "kind": name, "start_ns": 0, "end_ns": 5_000}]}],
    });
    let answer = |after| {
        json!({
            "reading": name, "before": side, "after": after,
            "difference": {"ns": 1, "low_ns": -1, "high_ns": 2},
            "carriers": [{"parameter": name, "meaning": name, "source": name, "calibrated": false,
                          "width_ns": 3}],
        })
    };
    let hangs = json!({"hangs": {"why": name, "ops": [name], "ranks": [1]}});
    let result = json!({
        "format": WhatIf::FORMAT, "tool": name,
        "source": {"path": name, "kind": "schedule", "content": name},
        "changes": [{"change": name, "touched": 1}],
        "answers": [answer(json!({"ends": side})), answer(hangs)],
        "notes": [{"kind": "assumption", "text": name}, {"kind": "warning", "text": name}],
    });
    serde_json::from_value(result).expect("it is a result")
}
