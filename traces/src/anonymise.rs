//! What should not leave a company, taken out of captures.
//!
//! Kept are the names of kernels, ops and calls, times, ids, sizes and versions: what a replay needs.
//! Call stacks are dropped by the readers already. Dropped here are:
//!
//! * paths within names and settings, down to their last part;
//! * ids of communication groups, which hold addresses of hosts
//!   (`ADDRESS%INTERFACE_PORT_…` in databases): each becomes a number, the same one in all captures of a
//!   call, so that ranks still join;
//! * variables of the environment that are no number or switch: they may name hosts, users or paths;
//! * tensor shapes, if asked for.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::Trace;

/// What to drop besides what is always dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drop {
    /// Shapes of tensors; they tell the sizes of a model.
    pub shapes: bool,
}

/// What was dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// Distinct names that held a path.
    pub paths: usize,
    /// Distinct ids of groups.
    pub groups: usize,
    /// Settings.
    pub settings: usize,
    /// Kernels whose shapes went.
    pub shapes: usize,
}

/// Takes out of captures of one run what should not leave a company.
///
/// # Complexity
/// Linear in the rows.
pub fn anonymise(traces: &mut [Trace], drop: Drop) -> Dropped {
    let ids: BTreeSet<String> = traces
        .iter()
        .flat_map(|trace| trace.collectives.iter().map(move |op| (trace, op.group_id)))
        .filter_map(|(trace, id)| Some(trace.name(id?).to_owned()))
        .collect();
    let numbers: BTreeMap<String, String> = ids
        .into_iter()
        .enumerate()
        .map(|(number, id)| (id, format!("group-{number}")))
        .collect();
    let mut dropped = Dropped {
        groups: numbers.len(),
        ..Dropped::default()
    };
    for trace in traces {
        one(trace, drop, &numbers, &mut dropped);
    }
    dropped
}

fn one(trace: &mut Trace, drop: Drop, groups: &BTreeMap<String, String>, dropped: &mut Dropped) {
    if drop.shapes {
        for detail in &mut trace.details {
            let (input, output) = (detail.input_shapes.take(), detail.output_shapes.take());
            dropped.shapes += usize::from(input.is_some() || output.is_some());
        }
    }
    for op in &mut trace.collectives {
        let number = op.group_id.and_then(|id| groups.get(trace.names.get(id)));
        op.group_id = number.map(|number| trace.names.intern(number));
    }
    trace.rename(|name| {
        let short = without_paths(name);
        dropped.paths += usize::from(short != name);
        short
    });
    let before = trace.meta.settings.len();
    trace
        .meta
        .settings
        .retain(|(key, value)| is_harmless(key, value));
    dropped.settings += before - trace.meta.settings.len();
    // Notes may quote a name.
    trace.notes.clear();
}

/// Settings whose values are words of the profiler itself.
const OWN: [&str; 4] = [
    "npu_info",
    "schema_version",
    "platform_version",
    "export_type",
];

/// Whether a setting says nothing about who made the capture: the profiler's own, and numbers and switches.
fn is_harmless(key: &str, value: &str) -> bool {
    let is_switch = matches!(
        value.to_ascii_lowercase().as_str(),
        "true" | "false" | "on" | "off"
    );
    OWN.contains(&key) || is_switch || value.parse::<i64>().is_ok()
}

/// `name` with each absolute or home path down to its last part. Scopes of graph nodes, `Default/network/conv`,
/// are names and no paths.
fn without_paths(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let mut word = String::new();
    let flush = |word: &mut String, short: &mut String| {
        let windows = word.get(1..3) == Some(":\\");
        let is_path = windows || word.starts_with('/') || word.starts_with("~/");
        let last = word
            .trim_end_matches(['/', '\\'])
            .rsplit(['/', '\\'])
            .next();
        match (is_path, last) {
            (true, Some(last)) => short.push_str(last),
            _ => short.push_str(word),
        }
        word.clear();
    };
    for c in name.chars() {
        // What a path stands between.
        if c.is_whitespace() || "\"'()[]{}<>,;=|@".contains(c) {
            flush(&mut word, &mut short);
            short.push(c);
        } else {
            word.push(c);
        }
    }
    flush(&mut word, &mut short);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_shrink_to_their_last_part_and_scopes_stay() {
        for (name, short) in [
            ("aten::add", "aten::add"),
            ("Default/network/conv1", "Default/network/conv1"),
            (
                "/home/someone/model.py(12): forward",
                "model.py(12): forward",
            ),
            ("load /data/secret/weights.bin now", "load weights.bin now"),
            ("run(~/a/b.sh,/etc/hosts/)", "run(b.sh,hosts)"),
            (r"C:\Users\someone\x.py", "x.py"),
            ("/", ""),
            ("", ""),
        ] {
            assert_eq!(without_paths(name), short, "{name}");
        }
    }

    #[test]
    fn only_numbers_and_switches_of_the_environment_stay() {
        assert!(is_harmless("HCCL_RDMA_TC", "132") && is_harmless("record_shapes", "true"));
        assert!(is_harmless("npu_info", "Ascend910B"));
        assert!(!is_harmless("MASTER_ADDR", "10.1.2.3") && !is_harmless("PATH", "/usr/bin"));
    }
}
