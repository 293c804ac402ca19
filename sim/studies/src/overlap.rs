//! Whether side streams run beside the others, and why a change gains nothing.

use std::collections::BTreeMap;

use crate::result::{Overlap, OverlapKind, Side, StreamLine, StreamTask};

/// From which share of its time on an op runs truly in parallel, and up to which share it does not
/// (facts/schedules.md B7).
const TRUE_SHARE: f64 = 0.5;
const FAKE_SHARE: f64 = 0.05;

/// A gain of less than this share of the makespan is called none.
pub const NO_GAIN: f64 = 0.005;

/// Whether a difference of `ns` of a makespan of `of` ns is a gain worth the name.
pub fn is_gain(ns: i64, of: i64) -> bool {
    (-ns) as f64 >= NO_GAIN * of as f64 && ns < 0
}

fn is_work(task: &StreamTask) -> bool {
    !matches!(
        task.kind.as_str(),
        "wait" | "notify_wait" | "value_wait" | "graph_launch"
    )
}

/// How much of the time of each op of the side streams something else ran on its rank. A rank's side
/// streams are all but the one that was busy longest.
///
/// # Complexity
/// O(tasks log tasks) for each rank, times its side streams.
pub(crate) fn overlaps(streams: &[StreamLine]) -> Vec<Overlap> {
    let mut by_rank: BTreeMap<u32, Vec<&StreamLine>> = BTreeMap::new();
    for line in streams.iter().filter(|line| line.busy_ns > 0) {
        by_rank.entry(line.rank).or_default().push(line);
    }
    let mut found = Vec::new();
    for (rank, lines) in by_rank {
        let Some(most) = lines.iter().map(|line| line.busy_ns).max() else {
            continue;
        };
        let main = lines.iter().position(|line| line.busy_ns == most);
        for (at, line) in lines.iter().enumerate().filter(|(at, _)| Some(*at) != main) {
            let others = lines.iter().enumerate().filter(|(other, _)| *other != at);
            let busy = union(others.flat_map(|(_, line)| line.tasks.iter()));
            for task in line.tasks.iter().filter(|task| is_work(task)) {
                let length = task.end_ns - task.start_ns;
                let beside = covered(&busy, task.start_ns, task.end_ns);
                let share = beside as f64 / length.max(1) as f64;
                let kind = if share >= TRUE_SHARE {
                    OverlapKind::True
                } else if share > FAKE_SHARE {
                    OverlapKind::Partial
                } else {
                    OverlapKind::Fake
                };
                found.push(Overlap {
                    rank,
                    stream: line.stream.clone(),
                    op: task.op.clone(),
                    ns: length,
                    beside_ns: beside,
                    kind,
                });
            }
        }
    }
    found
}

/// The time in which any of the tasks runs, as disjoint stretches in order.
fn union<'t>(tasks: impl Iterator<Item = &'t StreamTask>) -> Vec<(i64, i64)> {
    let mut all: Vec<(i64, i64)> = tasks
        .filter(|task| is_work(task))
        .map(|task| (task.start_ns, task.end_ns))
        .collect();
    all.sort_unstable();
    let mut union: Vec<(i64, i64)> = Vec::new();
    for (start, end) in all {
        match union.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => union.push((start, end)),
        }
    }
    union
}

/// How much of `[start, end)` the stretches cover.
fn covered(stretches: &[(i64, i64)], start: i64, end: i64) -> i64 {
    let from = stretches.partition_point(|stretch| stretch.1 <= start);
    stretches[from..]
        .iter()
        .take_while(|stretch| stretch.0 < end)
        .map(|stretch| stretch.1.min(end) - stretch.0.max(start))
        .sum()
}

/// Why a difference of `ns` is a loss or next to nothing; none where it is a gain.
pub(crate) fn cause(before: &Side, after: &Side, ns: i64) -> Option<String> {
    if is_gain(ns, before.makespan.ns) {
        return None;
    }
    let part = |side: &Side, category: &str| {
        let found = side.blame.iter().find(|entry| entry.category == category);
        found.map_or(0, |entry| entry.ns)
    };
    let us = |ns: i64| format!("{:.1} µs", ns as f64 / 1e3);
    // What grew most, and at least by half of a gain that would count.
    let least = (NO_GAIN * before.makespan.ns as f64 / 2.0) as i64;
    let grown = after
        .blame
        .iter()
        .map(|entry| {
            (
                entry.ns - part(before, &entry.category),
                entry.category.as_str(),
            )
        })
        .filter(|(more, _)| *more > least.max(0))
        .max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(a.1)));
    if let Some((more, category)) = grown {
        let (total, more) = (us(part(after, category)), us(more));
        return Some(match category {
            "launch" | "host" => format!(
                "the host issues too late: launching takes {total} of the critical path, {more} more than \
                 before, and what could run beside the rest is not issued in time"
            ),
            "wait on cores" => format!(
                "ready kernels wait {total} for cores that others hold, {more} more than before"
            ),
            "wait on event" => {
                format!("events take {total} of the critical path, {more} more than before")
            }
            "gap" => format!("gaps between tasks take {total}, {more} more than before"),
            "collective" => {
                format!("collectives take {total} of the critical path, {more} more than before")
            }
            _ => format!("{category} takes {total} of the critical path, {more} more than before"),
        });
    }
    let fake = after
        .overlap
        .iter()
        .filter(|op| op.kind == OverlapKind::Fake);
    let (fake, all) = (fake.count(), after.overlap.len());
    if all > 0 && fake * 2 > all {
        return Some(format!(
            "{fake} of {all} ops on side streams run beside nothing: the streams take turns"
        ));
    }
    let launch = part(after, "launch") + part(after, "host");
    if launch * 4 > after.makespan.ns {
        return Some(format!(
            "the host issues too late: launching takes {} of the critical path before and after",
            us(launch)
        ));
    }
    Some("what it changes is not on the critical path, which stays as long as it was".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(op: &str, start_ns: i64, end_ns: i64) -> StreamTask {
        StreamTask {
            op: op.to_owned(),
            kind: "kernel".to_owned(),
            start_ns,
            end_ns,
        }
    }

    fn line(stream: &str, tasks: Vec<StreamTask>) -> StreamLine {
        StreamLine {
            rank: 0,
            stream: stream.to_owned(),
            busy_ns: tasks.iter().map(|task| task.end_ns - task.start_ns).sum(),
            tasks,
        }
    }

    #[test]
    fn side_ops_are_true_partial_or_fake() {
        let main = line("main", vec![task("a", 0, 1000), task("b", 2000, 3000)]);
        let side = line(
            "side",
            vec![
                task("true", 500, 1500),
                task("partial", 1900, 2100),
                task("fake", 3000, 3100),
            ],
        );
        let found: Vec<_> = overlaps(&[main, side])
            .into_iter()
            .map(|op| (op.op, op.beside_ns, op.kind))
            .collect();
        assert_eq!(
            found,
            [
                ("true".to_owned(), 500, OverlapKind::True),
                ("partial".to_owned(), 100, OverlapKind::True),
                ("fake".to_owned(), 0, OverlapKind::Fake),
            ]
        );
    }

    #[test]
    fn half_a_percent_is_no_gain() {
        assert!(is_gain(-5, 1000) && !is_gain(-4, 1000) && !is_gain(4, 1000));
    }
}
