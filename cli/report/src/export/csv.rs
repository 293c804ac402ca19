//! One row per task and call.

use std::io::{self, Write};

use ascsim_studies::{LaneKind, StepTimeline};

/// The columns. Times are ns from the start of the step.
const COLUMNS: [&str; 18] = [
    "rank",
    "lane",
    "lane_kind",
    "op",
    "name",
    "kind",
    "tags",
    "cores",
    "moves",
    "start_ns",
    "end_ns",
    "duration_ns",
    "issued_ns",
    "ready_ns",
    "wait_on_cores_ns",
    "delay_ns",
    "critical_ns",
    "duration_from",
];

/// Writes the table with a header.
pub(super) fn write(step: &StepTimeline, out: &mut dyn Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(COLUMNS)?;
    for row in &step.rows {
        let lane = &step.lanes[row.lane as usize];
        let kind = match lane.kind {
            LaneKind::Stream => "stream",
            LaneKind::Parts => "parts",
            LaneKind::Thread => "thread",
        };
        let times = [
            row.start_ns,
            row.end_ns,
            row.len_ns(),
            row.issued_ns,
            row.ready_ns,
            row.start_ns - row.ready_ns,
            row.delay_ns,
            row.critical_ns,
        ]
        .map(|ns| ns.to_string());
        let rank = lane.rank.to_string();
        let texts = [row.op, row.name, row.kind, row.tags, row.cores, row.moves];
        let texts = texts.map(|id| step.text(id));
        let fields = [rank.as_str(), &lane.name, kind]
            .into_iter()
            .chain(texts)
            .chain(times.iter().map(String::as_str))
            .chain([step.text(row.provenance)]);
        table.write_record(fields)?;
    }
    table.flush()
}
