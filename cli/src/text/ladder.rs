//! A ladder as text: a table and a waterfall.

use std::fmt::Write as _;

use ascsim_studies::{Ladder, Rung, is_gain};

use super::{shown, signed, table, time};

/// The whole text. `columns` is the width of the terminal.
pub(crate) fn text(result: &Ladder, columns: usize) -> String {
    let mut text = format!("{}\n\n", headline(result));
    let mut rows = vec![
        ["", "makespan", "90 % of samples", "step", "total", "change"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (number, rung) in result.rungs.iter().enumerate() {
        let or = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        rows.push(vec![
            number.to_string(),
            rung.makespan
                .map_or("hangs".to_owned(), |range| time(range.ns)),
            or(rung
                .makespan
                .map(|range| format!("{} … {}", time(range.low_ns), time(range.high_ns)))),
            or(rung.step.map(|range| signed(range.ns))),
            or(rung.total.map(|range| signed(range.ns))),
            name(rung),
        ]);
    }
    text.push_str(&table(&rows, "", true));
    waterfall(&mut text, result, columns);
    let reasons = result.rungs.iter().enumerate();
    for (number, rung) in reasons {
        if let Some(hang) = &rung.hangs {
            let _ = writeln!(text, "\n{number} hangs: {}", shown(&hang.why, 2000));
        } else if !rung.cause.is_empty() {
            let loss = rung.step.is_some_and(|range| range.ns > 0);
            let what = if loss { "a loss" } else { "no gain" };
            let _ = writeln!(text, "\n{number} is {what}: {}", rung.cause);
        }
    }
    text.push('\n');
    super::notes(&mut text, &result.notes);
    text
}

fn name(rung: &Rung) -> String {
    if rung.change.is_empty() {
        "as it is".to_owned()
    } else {
        format!("+ {} ({} ops)", shown(&rung.change, 100), rung.touched)
    }
}

fn headline(result: &Ladder) -> String {
    let first = result.rungs.first().and_then(|rung| rung.makespan);
    let last = result.rungs.iter().rev().find_map(|rung| rung.makespan);
    if let Some((number, rung)) = result
        .rungs
        .iter()
        .enumerate()
        .find(|(_, rung)| rung.hangs.is_some())
    {
        return format!("step {number} ({}) hangs", shown(&rung.change, 200));
    }
    let (Some(first), Some(last)) = (first, last) else {
        return "nothing ends".to_owned();
    };
    let ns = last.ns - first.ns;
    let share = 100.0 * ns as f64 / first.ns.max(1) as f64;
    let verdict = if is_gain(ns, first.ns) {
        format!("{} faster", time(-ns))
    } else if ns > 0 {
        format!("a loss: {} slower", time(ns))
    } else {
        "no gain".to_owned()
    };
    let steps = result.rungs.len() - 1;
    format!(
        "{verdict} after {steps} changes: {} -> {}, {share:+.1} %",
        time(first.ns),
        time(last.ns)
    )
}

/// One bar per rung: what is left, and what the step took away or added.
fn waterfall(text: &mut String, result: &Ladder, columns: usize) {
    let longest = result
        .rungs
        .iter()
        .filter_map(|rung| rung.makespan)
        .map(|range| range.ns)
        .max()
        .unwrap_or(0)
        .max(1);
    let width = columns.saturating_sub(24).clamp(20, 100) as i64;
    let bar = |ns: i64| {
        ((i128::from(ns) * i128::from(width) + i128::from(longest) / 2) / i128::from(longest))
            as usize
    };
    let _ = writeln!(
        text,
        "\nwaterfall  (one column is {}; - gained by the step, + lost)",
        time(longest / width)
    );
    let mut before: Option<i64> = None;
    for (number, rung) in result.rungs.iter().enumerate() {
        let Some(makespan) = rung.makespan else {
            let _ = writeln!(text, "  {number:>2}  hangs");
            continue;
        };
        let now = makespan.ns;
        let (kept, mark, more) = match before {
            Some(then) if then >= now => (now, '-', then - now),
            Some(then) => (then, '+', now - then),
            None => (now, '-', 0),
        };
        let (solid, changed) = (bar(kept), bar(kept + more) - bar(kept));
        let _ = writeln!(
            text,
            "  {number:>2}  {}{}  {}",
            "#".repeat(solid),
            mark.to_string().repeat(changed),
            time(now)
        );
        before = Some(now);
    }
}
