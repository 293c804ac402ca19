//! The graph of the tasks for Graphviz: an edge from each task to the next on its stream, and one per
//! link. Calls of the host are left out, and so are launches.

use std::collections::BTreeSet;
use std::io::{self, Write};

use ascsim_studies::{LaneKind, LinkKind, StepTimeline};

use crate::text::{line, time};

/// Writes the graph.
pub(super) fn write(step: &StepTimeline, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "digraph step {{")?;
    writeln!(out, "  rankdir=LR; newrank=true;")?;
    writeln!(
        out,
        "  node [shape=box, fontname=\"sans-serif\", fontsize=10];"
    )?;
    let ranks: BTreeSet<u32> = step.lanes.iter().map(|lane| lane.rank).collect();
    for rank in ranks {
        writeln!(out, "  subgraph cluster_rank_{rank} {{")?;
        writeln!(out, "    label=\"rank {rank}\"; color=gray;")?;
        for (at, lane) in (0_u32..).zip(&step.lanes) {
            if lane.rank == rank && lane.kind != LaneKind::Thread {
                stream(step, at, out)?;
            }
        }
        writeln!(out, "  }}")?;
    }
    let is_call = |row: u32| {
        let lane = step.rows[row as usize].lane;
        step.lanes[lane as usize].kind == LaneKind::Thread
    };
    for link in &step.links {
        if link.kind == LinkKind::Launch || is_call(link.from) || is_call(link.to) {
            continue;
        }
        let style = match link.kind {
            LinkKind::Collective => "dashed",
            _ => "solid",
        };
        let (from, to, name) = (link.from, link.to, link.kind.name());
        writeln!(
            out,
            "  n{from} -> n{to} [label=\"{name}\", style={style}, color=\"#b35900\", constraint=false];"
        )?;
    }
    writeln!(out, "}}")
}

fn stream(step: &StepTimeline, lane: u32, out: &mut dyn Write) -> io::Result<()> {
    let name = quoted(&line(&step.lanes[lane as usize].name, 100));
    writeln!(out, "    subgraph cluster_lane_{lane} {{")?;
    writeln!(out, "      label={name}; style=dotted;")?;
    let rows = step.rows_of(lane);
    for at in rows.clone() {
        let row = &step.rows[at];
        let name = line(step.text(row.op), 100);
        let label = quoted(&format!("{name}\n{}", time(row.len_ns())));
        // The critical path is told by the line, not by colour alone.
        let width = if row.critical_ns > 0 { 3 } else { 1 };
        writeln!(out, "      n{at} [label={label}, penwidth={width}];")?;
    }
    for at in rows.skip(1) {
        writeln!(out, "      n{} -> n{at};", at - 1)?;
    }
    writeln!(out, "    }}")
}

/// A quoted string of the DOT language: only quotes end it, and backslashes start escapes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
