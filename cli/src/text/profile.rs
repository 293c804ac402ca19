//! Imports and replays as text.

use std::fmt::Write as _;

use ascsim_sim::attribute::{Fitted, Replay, Spread};
use ascsim_traces::recover::ImportSummary;

use super::{table, time};

/// What an import found.
pub(crate) fn import(summary: &ImportSummary) -> String {
    let mut text = String::new();
    let list = |ranks: &[u32]| {
        let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
        if ranks.is_empty() {
            "none".to_owned()
        } else {
            ranks.join(", ")
        }
    };
    let step = summary.step.map_or("the whole capture".to_owned(), |step| {
        format!("step {step}")
    });
    let _ = writeln!(
        text,
        "taken     {step}: {} ops on {} streams",
        summary.ops, summary.streams
    );
    let _ = writeln!(
        text,
        "ranks     {} captured, {} external",
        list(&summary.captured),
        list(&summary.external)
    );
    let _ = writeln!(
        text,
        "tasks     {}, of which {} are folded into collectives",
        summary.tasks, summary.folded
    );
    let mut rows = vec![
        ["links", "paired", "guessed", "open", "violated"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (kind, links) in &summary.links {
        let counts = [links.paired, links.guessed, links.open, links.violated];
        let mut row = vec![format!("  {kind}")];
        row.extend(counts.map(|count| count.to_string()));
        rows.push(row);
    }
    text.push('\n');
    text.push_str(&table(&rows, "", false));
    assumed(&mut text, summary);
    text
}

fn assumed(text: &mut String, summary: &ImportSummary) {
    for (at, assumed) in summary.assumed.iter().enumerate() {
        let label = if at == 0 { "\nassumed " } else { "        " };
        let _ = writeln!(text, "{label} {assumed}");
    }
}

/// How two replays of one profile went: with the observed delays and without.
pub(crate) fn replay(observed: &Replay, none: &Replay) -> String {
    let ps = |ps: u64| time((ps / 1000) as i64);
    let mut text = String::new();
    let error = |replay: &Replay| {
        100.0 * (replay.simulated as f64 - replay.observed as f64) / (replay.observed.max(1)) as f64
    };
    let _ = writeln!(
        text,
        "recorded {}, replayed {} ({:+.3} %) with the observed delays, {} ({:+.1} %) without\n",
        ps(observed.observed),
        ps(observed.simulated),
        error(observed),
        ps(none.simulated),
        error(none),
    );
    let mut rows = vec![
        ["start errors", "tasks", "median", "p90", "p99", "worst"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (name, replay) in [("  observed delays", observed), ("  no delays", none)] {
        let starts = &replay.starts;
        let mut row = vec![name.to_owned(), starts.tasks.to_string()];
        row.extend([starts.median, starts.p90, starts.p99, starts.max].map(ps));
        rows.push(row);
    }
    text.push_str(&table(&rows, "", false));
    text.push_str("\ndelays on the critical path\n");
    let mut rows = Vec::new();
    for class in ["recorded", "external", "host think", "unexplained"] {
        let spent = observed.classes.get(class).copied().unwrap_or(0);
        rows.push(vec![
            format!("  {class}"),
            ps(spent),
            format!("{:.1} %", 100.0 * observed.share(class)),
        ]);
    }
    text.push_str(&table(&rows, "", false));
    text.push_str("\nwhere the time went\n");
    let rows: Vec<Vec<String>> = observed
        .blame
        .iter()
        .filter(|(_, spent)| **spent > 0)
        .map(|(category, spent)| vec![format!("  {category}"), ps(*spent)])
        .collect();
    text.push_str(&table(&rows, "", false));
    for note in observed.notes.iter().chain(
        none.notes
            .iter()
            .filter(|note| !observed.notes.contains(note)),
    ) {
        let _ = writeln!(text, "\nnote     {note}");
    }
    assumed(&mut text, &observed.summary);
    text
}

/// The parametric models of a profile; on a perturbed one beside the gaps without the disturbance.
pub(crate) fn fitted(fitted: &Fitted, perturbed: bool) -> String {
    let mut header = vec!["fitted", "count", "least", "p10", "median", "p90", "most"];
    header.extend(perturbed.then_some("undisturbed"));
    let mut rows = vec![header.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    let mut row = |name: String, spread: &Spread, clean: Option<u64>| {
        let all = [
            spread.min,
            spread.p10,
            spread.median,
            spread.p90,
            spread.max,
        ];
        let mut row = vec![format!("  {name}"), spread.count.to_string()];
        row.extend(all.map(|ps| time(ps / 1000)));
        if perturbed {
            row.push(clean.map_or(String::new(), |ps| time((ps / 1000) as i64)));
        }
        rows.push(row);
    };
    for gap in &fitted.gaps {
        let name = format!("gap {} -> {}", gap.from, gap.to);
        row(name, &gap.recorded, gap.clean);
    }
    for (name, spread) in [
        ("launch", &fitted.launch),
        ("event, record to wait", &fitted.event),
        ("host synchronisation", &fitted.synchronise),
        ("hand-over to a thread", &fitted.hand_over),
    ] {
        if let Some(spread) = spread {
            row(name.to_owned(), spread, None);
        }
    }
    format!("\n{}", table(&rows, "", false))
}
