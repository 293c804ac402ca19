//! The answer of a what-if as text.

use std::fmt::Write as _;

use ascsim_studies::{
    Answer, Outcome, Overlap, OverlapKind, Range, Side, SourceKind, StreamLine, WhatIf, is_gain,
};

use super::{shown, signed, table, time};

/// The whole text. `columns` is the width of the terminal.
pub(crate) fn text(result: &WhatIf, columns: usize) -> String {
    let mut text = String::new();
    let Some(answer) = result.answer() else {
        return text;
    };
    let _ = writeln!(text, "{}", headline(answer));
    text.push('\n');
    let what = match result.source.kind {
        SourceKind::BuiltIn => "built-in example",
        SourceKind::Schedule => "schedule",
        SourceKind::Profile => "profile",
    };
    let _ = writeln!(text, "input    {what} {}", shown(&result.source.path, 200));
    for change in &result.given {
        let (touched, change) = (change.touched, shown(&change.change, 400));
        let _ = writeln!(text, "given    {change}  ({touched} ops)");
    }
    for change in &result.changes {
        let (touched, change) = (change.touched, shown(&change.change, 400));
        let _ = writeln!(text, "change   {change}  ({touched} ops)");
    }
    for answer in &result.answers {
        text.push('\n');
        text.push_str(&block(answer, columns));
    }
    let _ = writeln!(
        text,
        "\nkey      # kernel  = collective  ~ copy or prefetch  w wait  + other  . idle"
    );
    super::notes(&mut text, &result.notes);
    text
}

/// The answer in one line.
fn headline(answer: &Answer) -> String {
    let before = answer.before.makespan;
    match (&answer.after, answer.difference) {
        (None, _) => format!("the step takes {} {}", time(before.ns), range(before)),
        (Some(Outcome::Hangs(hang)), _) => {
            format!("the changed schedule hangs: {}", shown(&hang.why, 2000))
        }
        (Some(Outcome::Ends(after)), difference) => {
            let difference = difference.unwrap_or(Range {
                ns: 0,
                low_ns: 0,
                high_ns: 0,
            });
            let share = |ns: i64| 100.0 * ns as f64 / (before.ns.max(1)) as f64;
            let verdict = match difference.ns {
                ns if is_gain(ns, before.ns) => format!("{} faster", time(-ns)),
                0 => "no gain".to_owned(),
                ns if ns < 0 => format!("no gain to speak of: {} faster", time(-ns)),
                ns => format!("a loss: {} slower", time(ns)),
            };
            let because = match answer.cause.as_str() {
                "" => String::new(),
                cause => format!("; {}", shown(cause, 400)),
            };
            let sure = if difference.low_ns < 0 && difference.high_ns > 0 {
                "; the range holds both a gain and a loss"
            } else {
                ""
            };
            format!(
                "{verdict}: {} -> {}, {:+.1} % (90 % of samples from {:+.1} % to {:+.1} %{sure}){because}",
                time(before.ns),
                time(after.makespan.ns),
                share(difference.ns),
                share(difference.low_ns),
                share(difference.high_ns),
            )
        }
    }
}

fn range(range: Range) -> String {
    if range.low_ns == range.high_ns {
        return "(no range)".to_owned();
    }
    format!("({} to {})", time(range.low_ns), time(range.high_ns))
}

fn block(answer: &Answer, columns: usize) -> String {
    let mut text = String::new();
    if !answer.reading.is_empty() {
        let _ = writeln!(text, "with {}:\n", shown(&answer.reading, 200));
    }
    let after = match &answer.after {
        Some(Outcome::Ends(side)) => Some(side),
        _ => None,
    };
    text.push_str(&table(
        &summary(&answer.before, after, answer.difference),
        "",
        false,
    ));
    if let Some(Outcome::Hangs(hang)) = &answer.after {
        let _ = writeln!(
            text,
            "\nthe changed schedule hangs; each waits for the next:"
        );
        for op in &hang.ops {
            let _ = writeln!(text, "  {}", shown(op, 200));
        }
    }
    let end = [Some(&answer.before), after]
        .into_iter()
        .flatten()
        .flat_map(|side| &side.streams)
        .flat_map(|line| &line.tasks)
        .map(|task| task.end_ns)
        .max()
        .unwrap_or(0);
    let _ = writeln!(
        text,
        "\nstreams  (one column is {})",
        time(column_ns(end, columns))
    );
    streams(&mut text, "before", &answer.before, end, columns);
    if let Some(after) = after {
        streams(&mut text, "after", after, end, columns);
    }
    let side = after.unwrap_or(&answer.before);
    let mut longest: Vec<_> = side.critical_path.iter().collect();
    longest.sort_by_key(|entry| (std::cmp::Reverse(entry.ns), entry.start_ns));
    longest.truncate(8);
    longest.sort_by_key(|entry| entry.start_ns);
    if !longest.is_empty() {
        let which = if after.is_some() { "after" } else { "before" };
        let _ = writeln!(
            text,
            "\ncritical path {which}, its longest stretches in order"
        );
        let rows: Vec<Vec<String>> = longest
            .iter()
            .map(|entry| {
                vec![
                    format!("rank {}", entry.rank),
                    time(entry.start_ns),
                    time(entry.ns),
                    entry.category.clone(),
                    shown(&entry.op, 60),
                ]
            })
            .collect();
        text.push_str(&table(&rows, "  ", true));
    }
    for (what, changes) in [
        ("left", &answer.left_path),
        ("entered", &answer.entered_path),
    ] {
        if changes.is_empty() {
            continue;
        }
        let each = changes.iter().take(6).map(|change| {
            let by = signed(change.after_ns - change.before_ns);
            format!("{} {by}", shown(&change.op, 40))
        });
        let each: Vec<String> = each.collect();
        let _ = writeln!(text, "\n{what} the critical path: {}", each.join(", "));
    }
    if let Some(after) = after {
        overlap(&mut text, &after.overlap);
    }
    if !answer.carriers.is_empty() {
        let of = if after.is_some() {
            "difference"
        } else {
            "makespan"
        };
        let _ = writeln!(text, "\nwhat carries the range of the {of}");
        for carrier in answer.carriers.iter().take(3) {
            let mark = if carrier.calibrated {
                ""
            } else {
                "  UNCALIBRATED"
            };
            let _ = writeln!(
                text,
                "  {}  {}: {}{mark}\n      source: {}",
                time(carrier.width_ns),
                carrier.parameter,
                carrier.meaning,
                carrier.source,
            );
        }
    }
    text
}

/// Whether side streams run beside the others.
fn overlap(text: &mut String, ops: &[Overlap]) {
    if ops.is_empty() {
        return;
    }
    let count = |kind| ops.iter().filter(|op| op.kind == kind).count();
    let ns: i64 = ops.iter().map(|op| op.ns).sum();
    let beside: i64 = ops.iter().map(|op| op.beside_ns).sum();
    let _ = writeln!(
        text,
        "\nside streams run beside others for {} of {}: {} ops truly in parallel, {} partly, {} not",
        time(beside),
        time(ns),
        count(OverlapKind::True),
        count(OverlapKind::Partial),
        count(OverlapKind::Fake)
    );
    let worse: Vec<String> = ops
        .iter()
        .filter(|op| op.kind != OverlapKind::True)
        .take(6)
        .map(|op| {
            format!(
                "{} {:.0} %",
                shown(&op.op, 40),
                100.0 * op.beside_ns as f64 / op.ns.max(1) as f64
            )
        })
        .collect();
    if !worse.is_empty() {
        let _ = writeln!(text, "  not or partly: {}", worse.join(", "));
    }
}

/// The makespan and where it went, side by side.
fn summary(before: &Side, after: Option<&Side>, difference: Option<Range>) -> Vec<Vec<String>> {
    let row = |name: &str, before: Option<i64>, after: Option<Option<i64>>| {
        let cell = |ns: Option<i64>| ns.map_or("-".to_owned(), time);
        let mut row = vec![name.to_owned(), cell(before)];
        if let Some(after) = after {
            row.push(cell(after));
            row.push(signed(after.unwrap_or(0) - before.unwrap_or(0)));
        }
        row
    };
    let mut head = vec![String::new(), "before".to_owned()];
    if after.is_some() {
        head.extend(["after".to_owned(), "difference".to_owned()]);
    }
    let mut rows = vec![head];
    rows.push(row(
        "makespan",
        Some(before.makespan.ns),
        after.map(|side| Some(side.makespan.ns)),
    ));
    let mut ranges = vec!["90 % of samples".to_owned(), span(before.makespan)];
    if let Some(after) = after {
        ranges.push(span(after.makespan));
        ranges.push(difference.map_or(String::new(), |range| {
            format!("{} … {}", signed(range.low_ns), signed(range.high_ns))
        }));
    }
    rows.push(ranges);
    if [Some(before), after]
        .iter()
        .flatten()
        .any(|side| side.first_task_ns != 0)
    {
        rows.push(row(
            "first device task at",
            Some(before.first_task_ns),
            after.map(|side| Some(side.first_task_ns)),
        ));
    }
    let find = |side: &Side, category: &str| {
        side.blame
            .iter()
            .find(|entry| entry.category == category)
            .map(|entry| entry.ns)
    };
    let mut categories: Vec<&str> = before
        .blame
        .iter()
        .map(|entry| entry.category.as_str())
        .collect();
    for entry in after.iter().flat_map(|side| &side.blame) {
        if !categories.contains(&entry.category.as_str()) {
            categories.push(&entry.category);
        }
    }
    for category in categories {
        let name = format!("  {category}");
        rows.push(row(
            &name,
            find(before, category),
            after.map(|side| find(side, category)),
        ));
    }
    rows
}

fn span(range: Range) -> String {
    format!("{} … {}", time(range.low_ns), time(range.high_ns))
}

/// Columns for the bar of a stream.
fn bar_columns(columns: usize) -> usize {
    columns.saturating_sub(34).clamp(20, 120)
}

fn column_ns(end: i64, columns: usize) -> i64 {
    end / bar_columns(columns) as i64
}

/// One line per stream: what ran when.
fn streams(text: &mut String, name: &str, side: &Side, end: i64, columns: usize) {
    const MOST: usize = 16;
    let mut lines: Vec<&StreamLine> = side
        .streams
        .iter()
        .filter(|line| !line.tasks.is_empty())
        .collect();
    let left_out = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    for line in lines {
        let label = format!("{}:{}", line.rank, shown(&line.stream, 14));
        let pad = " ".repeat(17_usize.saturating_sub(super::width(&label)));
        let bar = bar(line, end, bar_columns(columns));
        let _ = writeln!(text, "  {name:<7}{label}{pad}{bar}");
    }
    if left_out > 0 {
        let _ = writeln!(
            text,
            "  {name:<7}… {left_out} more streams (all of them with --json)"
        );
    }
}

/// What a stream did in each column: the kind that took most of it.
fn bar(line: &StreamLine, end: i64, columns: usize) -> String {
    const KINDS: [char; 5] = ['#', '=', '~', 'w', '+'];
    let mut share = vec![[0_i64; KINDS.len()]; columns];
    for task in &line.tasks {
        let kind = match task.kind.as_str() {
            "kernel" | "super_kernel" => 0,
            "collective" => 1,
            "copy" | "prefetch" => 2,
            "wait" | "notify_wait" | "value_wait" => 3,
            "graph_launch" => continue,
            _ => 4,
        };
        let column = |ns: i64| (i128::from(ns) * columns as i128 / i128::from(end.max(1))) as usize;
        let (first, last) = (column(task.start_ns), column(task.end_ns).min(columns - 1));
        for (at, share) in share.iter_mut().enumerate().take(last + 1).skip(first) {
            let edge = |at: usize| (at as i128 * i128::from(end) / columns as i128) as i64;
            let overlap = task.end_ns.min(edge(at + 1)) - task.start_ns.max(edge(at));
            share[kind] += overlap.max(0);
        }
    }
    let column = (end / columns as i64).max(1);
    share
        .iter()
        .map(|share| {
            let (kind, most) = share
                .iter()
                .enumerate()
                .max_by_key(|(at, ns)| (**ns, KINDS.len() - at))
                .unwrap_or((0, &0));
            // Less than an eighth of the column is drawn as idle.
            if *most * 8 >= column {
                KINDS[kind]
            } else {
                '.'
            }
        })
        .collect()
}
