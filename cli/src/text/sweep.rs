//! A sweep as text and as CSV.

use std::fmt::Write as _;

use ascsim_studies::{Curve, PointOutcome, Sweep, SweepPoint, is_gain};

use super::{shown, signed, table, time};

/// The whole text. `columns` is the width of the terminal.
pub(crate) fn text(result: &Sweep, columns: usize) -> String {
    let mut text = format!("{}\n\n", headline(result));
    for change in &result.given {
        let _ = writeln!(text, "given    {}", shown(change, 400));
    }
    for change in &result.changes {
        let _ = writeln!(text, "change   {}", shown(change, 400));
    }
    let keys: Vec<String> = result
        .keys
        .iter()
        .map(|key| format!("{}.{}", key.change, key.key))
        .collect();
    let _ = writeln!(
        text,
        "swept    {}, {} points\n",
        keys.join(" and "),
        result.points.len()
    );
    if result.keys.len() == 2 {
        text.push_str(&grid(result));
    } else {
        text.push_str(&chart(result, columns));
    }
    let not: Vec<&SweepPoint> = result
        .points
        .iter()
        .filter(|point| point.difference().is_none())
        .collect();
    if let Some(first) = not.first() {
        let why = match &first.outcome {
            PointOutcome::Hangs { why } => format!("hangs: {why}"),
            PointOutcome::Refused { why } => why.clone(),
            PointOutcome::Ends { .. } => "hangs before the change".to_owned(),
        };
        let _ = writeln!(
            text,
            "\n{} points have no makespan; the first, {}: {}",
            not.len(),
            at(result, first),
            shown(&why, 600)
        );
    }
    text.push('\n');
    super::notes(&mut text, &result.notes);
    text
}

/// `us=5` or `record=1 wait=2`.
fn at(result: &Sweep, point: &SweepPoint) -> String {
    let pairs = result.keys.iter().zip(&point.values);
    let pairs: Vec<String> = pairs
        .map(|(key, value)| format!("{}={}", key.key, shown(value, 100)))
        .collect();
    pairs.join(" ")
}

/// The share that a point takes off its before, in percent; negative for a loss.
fn gain(point: &SweepPoint) -> Option<f64> {
    let before = point.before_ns?.max(1);
    Some(-100.0 * point.difference()? as f64 / before as f64)
}

fn is_gain_at(point: &SweepPoint) -> bool {
    matches!((point.difference(), point.before_ns), (Some(ns), Some(of)) if is_gain(ns, of))
}

/// The answer in one line.
fn headline(result: &Sweep) -> String {
    let Some(best) = result.best.and_then(|best| result.points.get(best)) else {
        return "no point has an answer: every one hangs or is refused".to_owned();
    };
    let because = |text: &str| match text {
        "" => String::new(),
        cause => format!(" ({cause})"),
    };
    let best_gain = gain(best).unwrap_or(0.0);
    if !is_gain_at(best) {
        return format!(
            "no gain at any of {} points; the best is {} with {:+.1} %{}",
            result.points.len(),
            at(result, best),
            -best_gain,
            because(&result.cause)
        );
    }
    let given = result.keys.iter().all(|key| key.given);
    if given && result.keys.len() == 1 {
        return trend(result, &because(&result.cause));
    }
    let (before, after) = (
        best.before_ns.unwrap_or(0),
        best.before_ns.unwrap_or(0) + best.difference().unwrap_or(0),
    );
    let key = result.keys.first().map_or("", |key| key.key.as_str());
    let turn = match &result.curve {
        None => String::new(),
        Some(Curve::Flat) => format!("; {key} makes no difference"),
        Some(Curve::BestAtLeast) => format!("; the least {key} is best, more is worse"),
        Some(Curve::BestAtGreatest) => {
            format!("; the greatest {key} is best, it does not turn over in the range")
        }
        Some(Curve::TurnsOver { from, to }) if from == to => {
            format!("; it turns over at {key}={from}: better up to there, worse beyond")
        }
        Some(Curve::TurnsOver { from, to }) => {
            format!("; it turns over: best from {key}={from} to {to}, worse on both sides")
        }
    };
    let range = result.best_difference.map_or(String::new(), |range| {
        let share = |ns: i64| 100.0 * ns as f64 / before.max(1) as f64;
        format!(
            " (90 % of samples from {:+.1} % to {:+.1} %)",
            share(range.low_ns),
            share(range.high_ns)
        )
    });
    format!(
        "best at {}: {} -> {}, {:+.1} %{range}{turn}",
        at(result, best),
        time(before),
        time(after),
        -best_gain,
    )
}

/// How the gain of a change goes over what is given.
fn trend(result: &Sweep, because: &str) -> String {
    let ends: Vec<&SweepPoint> = result
        .points
        .iter()
        .filter(|point| point.difference().is_some())
        .collect();
    let (Some(first), Some(last)) = (ends.first(), ends.last()) else {
        return "no point has an answer".to_owned();
    };
    let said = |point: &SweepPoint| {
        let gain = gain(point).unwrap_or(0.0);
        if is_gain_at(point) {
            format!("{gain:.1} %")
        } else if gain < -0.05 {
            format!("a loss of {:.1} %", -gain)
        } else {
            format!("none ({gain:.1} %)")
        }
    };
    let (from, to) = (gain(first).unwrap_or(0.0), gain(last).unwrap_or(0.0));
    let verb = if to < from { "falls" } else { "rises" };
    let because = if is_gain_at(last) { "" } else { because };
    format!(
        "the gain {verb} from {} at {} to {} at {}{because}",
        said(first),
        at(result, first),
        said(last),
        at(result, last),
    )
}

/// One line per point: its value, the makespans, and a bar of the gain.
fn chart(result: &Sweep, columns: usize) -> String {
    let most = result
        .points
        .iter()
        .filter_map(SweepPoint::difference)
        .map(i64::abs)
        .max()
        .unwrap_or(0)
        .max(1);
    let width = columns.saturating_sub(64).clamp(10, 60);
    let key = result.keys.first().map_or("", |key| key.key.as_str());
    let mut rows = vec![
        [key, "before", "after", "difference", "", "- gain  + loss"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (number, point) in result.points.iter().enumerate() {
        let value = shown(&point.values[0], 40);
        let before = point.before_ns.map_or("-".to_owned(), time);
        let row = match (&point.outcome, point.difference()) {
            (PointOutcome::Ends { ns }, Some(difference)) => {
                let length =
                    (i128::from(difference.abs()) * width as i128 / i128::from(most)) as usize;
                let mark = if difference < 0 { "-" } else { "+" };
                let best = if result.best == Some(number) {
                    " best"
                } else {
                    ""
                };
                vec![
                    value,
                    before,
                    time(*ns),
                    signed(difference),
                    format!("{:+.1} %", -gain(point).unwrap_or(0.0)),
                    format!("{}{best}", mark.repeat(length)),
                ]
            }
            (outcome, _) => vec![
                value,
                before,
                word(outcome).to_owned(),
                "-".to_owned(),
                String::new(),
                String::new(),
            ],
        };
        rows.push(row);
    }
    table(&rows, "", true)
}

fn word(outcome: &PointOutcome) -> &'static str {
    match outcome {
        PointOutcome::Ends { .. } => "ends",
        PointOutcome::Hangs { .. } => "hangs",
        PointOutcome::Refused { .. } => "refused",
    }
}

/// The makespans over two keys: the first goes down, the second across.
fn grid(result: &Sweep) -> String {
    const MOST: usize = 12;
    let values = |axis: usize| -> Vec<&str> {
        let mut seen: Vec<&str> = Vec::new();
        for point in &result.points {
            let value = point.values[axis].as_str();
            if !seen.contains(&value) {
                seen.push(value);
            }
        }
        sort_numbers(&mut seen);
        // As many as fit, the best among them.
        if seen.len() > MOST {
            let best = result
                .best
                .and_then(|best| result.points.get(best))
                .map(|point| point.values[axis].as_str());
            let every = seen.len().div_ceil(MOST);
            seen = seen
                .iter()
                .enumerate()
                .filter(|(at, value)| at % every == 0 || Some(**value) == best)
                .map(|(_, value)| *value)
                .collect();
        }
        seen
    };
    let (down, across) = (values(0), values(1));
    let name = |axis: usize| result.keys.get(axis).map_or("", |key| key.key.as_str());
    let mut head = vec![format!("{} \\ {}", name(0), name(1))];
    head.extend(across.iter().map(|value| shown(value, 20)));
    let mut rows = vec![head];
    for first in &down {
        let mut row = vec![shown(first, 20)];
        for second in &across {
            let found = result
                .points
                .iter()
                .enumerate()
                .find(|(_, point)| point.values == [*first, *second]);
            row.push(match found {
                Some((at, point)) => match point.outcome {
                    PointOutcome::Ends { ns } if result.best == Some(at) => {
                        format!("[{}]", time(ns))
                    }
                    PointOutcome::Ends { ns } => time(ns),
                    ref other => word(other).to_owned(),
                },
                None => String::new(),
            });
        }
        rows.push(row);
    }
    table(&rows, "", false)
}

fn sort_numbers(values: &mut [&str]) {
    if values.iter().all(|value| value.parse::<f64>().is_ok()) {
        let number = |value: &&str| value.parse::<f64>().unwrap_or(0.0);
        values.sort_by(|a, b| number(a).total_cmp(&number(b)));
    }
}

/// One row per point.
pub(crate) fn csv(result: &Sweep) -> String {
    let field = |text: &str| {
        if text.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    let mut head: Vec<String> = result
        .keys
        .iter()
        .map(|key| field(&format!("{}.{}", key.change, key.key)))
        .collect();
    head.extend(["before_ns", "after_ns", "difference_ns", "outcome", "why"].map(str::to_owned));
    let mut text = head.join(",") + "\n";
    for point in &result.points {
        let number = |ns: Option<i64>| ns.map_or(String::new(), |ns| ns.to_string());
        let (after, why) = match &point.outcome {
            PointOutcome::Ends { ns } => (Some(*ns), ""),
            PointOutcome::Hangs { why } | PointOutcome::Refused { why } => (None, why.as_str()),
        };
        let mut row: Vec<String> = point.values.iter().map(|value| field(value)).collect();
        row.extend([
            number(point.before_ns),
            number(after),
            number(point.difference()),
            word(&point.outcome).to_owned(),
            field(why),
        ]);
        text.push_str(&row.join(","));
        text.push('\n');
    }
    text
}
