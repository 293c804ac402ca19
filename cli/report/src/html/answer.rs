//! The answer of a what-if in words, numbers and bars.

use std::fmt::Write as _;

use ascsim_schedules::rewrite::NoteKind;
use ascsim_studies::{Answer, Carrier, Outcome, Side, SourceKind};

use super::Report;
use super::words::{Language, Words};
use crate::text::{escape, percent, signed, span, time};

pub(super) struct Answers<'a> {
    pub(super) report: &'a Report<'a>,
    pub(super) words: &'a Words,
}

impl Answers<'_> {
    /// The answer in one sentence, as text.
    pub(super) fn title(&self) -> String {
        self.report
            .result
            .answer()
            .map_or(String::new(), |answer| self.sentence(answer))
    }

    fn sentence(&self, answer: &Answer) -> String {
        let w = self.words;
        let before = answer.before.makespan.ns;
        let (space, comma) = match w.language {
            Language::English => (" ", ": "),
            Language::Chinese => (" ", "："),
        };
        match (&answer.after, answer.difference) {
            (None, _) => format!("{}{space}{}", w.step_takes, time(before)),
            (Some(Outcome::Hangs(hang)), _) => format!("{}{comma}{}", w.hangs, hang.why),
            (Some(Outcome::Ends(after)), difference) => {
                let difference = difference.map_or(0, |range| range.ns);
                let size = time(difference.saturating_abs());
                let verdict = match (difference, w.language) {
                    (0, _) => w.no_gain.to_owned(),
                    (..0, Language::English) => format!("{size} {}", w.faster),
                    (_, Language::English) => format!("{size} {}", w.slower),
                    (..0, Language::Chinese) => format!("{} {size}", w.faster),
                    (_, Language::Chinese) => format!("{} {size}", w.slower),
                };
                let (to, share) = (time(after.makespan.ns), percent(difference, before));
                format!("{verdict}{comma}{} → {to} ({share})", time(before))
            }
        }
    }

    /// How sure the sentence is, as text.
    fn sure(&self, answer: &Answer) -> String {
        let w = self.words;
        let before = answer.before.makespan;
        let range = answer.difference.unwrap_or(before);
        if range.low_ns == range.high_ns {
            return w.no_range.to_owned();
        }
        let Some(difference) = answer.difference else {
            return format!("{}: {}", w.samples, span(before));
        };
        let mut text = format!(
            "{}: {} … {} ({} … {})",
            w.samples,
            signed(difference.low_ns),
            signed(difference.high_ns),
            percent(difference.low_ns, before.ns),
            percent(difference.high_ns, before.ns),
        );
        if difference.low_ns < 0 && difference.high_ns > 0 {
            let _ = write!(text, "; {}", w.both_signs);
        }
        text
    }

    /// What stands above the timelines, as HTML.
    pub(super) fn head(&self) -> String {
        let (w, result) = (self.words, self.report.result);
        let mut html = format!("<h1>{}</h1>\n", escape(&self.title()));
        if let Some(answer) = result.answer() {
            let _ = writeln!(html, "<p class=\"sure\">{}</p>", escape(&self.sure(answer)));
            if let Some(Outcome::Hangs(hang)) = &answer.after {
                let _ = writeln!(html, "<div class=\"hang\"><p>{}:</p><ol>", w.waits_chain);
                for op in &hang.ops {
                    let _ = writeln!(html, "<li><bdi class=\"path\">{}</bdi></li>", escape(op));
                }
                html.push_str("</ol></div>\n");
            }
        }
        html.push_str("<dl class=\"facts-grid\">\n");
        let mut fact = |name: &str, value: String| {
            let _ = writeln!(html, "<dt>{name}</dt><dd>{value}</dd>");
        };
        let kind = match result.source.kind {
            SourceKind::BuiltIn => w.built_in,
            SourceKind::Schedule => w.schedule,
            SourceKind::Profile => w.profile,
        };
        let path = escape(&result.source.path);
        fact(w.input, format!("{kind} <bdi class=\"path\">{path}</bdi>"));
        for change in &result.changes {
            let text = escape(&change.change);
            let (touched, ops) = (change.touched, w.ops_touched);
            fact(
                w.change,
                format!("<bdi class=\"path\">{text}</bdi> ({touched} {ops})"),
            );
        }
        let hash = escape(&result.source.content);
        fact(w.hash, format!("<code>{hash}</code>"));
        fact(w.tool, escape(&result.tool));
        let command = escape(self.report.command);
        fact(w.command, format!("<code>{command}</code>"));
        html.push_str("</dl>\n");
        if self.report.short {
            let _ = writeln!(html, "<p class=\"sure\">{}</p>", escape(w.short_facts));
        }
        html
    }

    /// What stands below the timelines, as HTML.
    pub(super) fn body(&self) -> String {
        let (w, result) = (self.words, self.report.result);
        let mut html = String::new();
        let Some((answer, others)) = result.answers.split_last() else {
            return html;
        };
        let after = match &answer.after {
            Some(Outcome::Ends(side)) => Some(side),
            _ => None,
        };
        let _ = writeln!(
            html,
            "<section><h2>{}</h2>\n{}</section>",
            w.summary,
            self.blame(&answer.before, after)
        );
        if !answer.carriers.is_empty() {
            let _ = writeln!(
                html,
                "<section><h2>{}</h2>\n{}</section>",
                w.tornado,
                self.tornado(&answer.carriers)
            );
        }
        if !others.is_empty() {
            let _ = writeln!(
                html,
                "<section><h2>{}</h2>\n<ul class=\"notes\">",
                w.readings
            );
            for other in others {
                let (reading, sentence) = (escape(&other.reading), escape(&self.sentence(other)));
                let sure = escape(&self.sure(other));
                let _ = writeln!(
                    html,
                    "<li>{reading}: {sentence} <span class=\"sure\">({sure})</span></li>"
                );
            }
            html.push_str("</ul></section>\n");
        }
        for (kind, title) in [
            (NoteKind::Warning, w.warnings),
            (NoteKind::Assumption, w.assumptions),
        ] {
            let notes: Vec<_> = result
                .notes
                .iter()
                .filter(|note| note.kind == kind)
                .collect();
            if notes.is_empty() {
                continue;
            }
            let _ = writeln!(html, "<section><h2>{title}</h2>\n<ul class=\"notes\">");
            for note in notes {
                let _ = writeln!(html, "<li>{}</li>", escape(&note.text));
            }
            html.push_str("</ul></section>\n");
        }
        html
    }

    /// The makespan and its parts, with bars; both sides on one scale.
    fn blame(&self, before: &Side, after: Option<&Side>) -> String {
        let w = self.words;
        let mut categories: Vec<&str> = Vec::new();
        for entry in before
            .blame
            .iter()
            .chain(after.iter().flat_map(|side| &side.blame))
        {
            if !categories.contains(&entry.category.as_str()) {
                categories.push(&entry.category);
            }
        }
        let find = |side: &Side, category: &str| {
            let found = side.blame.iter().find(|entry| entry.category == category);
            found.map_or(0, |entry| entry.ns)
        };
        let most = categories
            .iter()
            .flat_map(|category| {
                [Some(before), after].map(|side| side.map(|side| find(side, category)))
            })
            .flatten()
            .max()
            .unwrap_or(0);
        let mut html = format!(
            "<div class=\"scroll\"><table class=\"blame\">\n<thead><tr><th>{}</th>",
            w.column
        );
        let first = match after {
            Some(_) => format!("<span class=\"key\"></span>{}", w.before),
            None => w.predicted.to_owned(),
        };
        let _ = write!(html, "<th class=\"number\">{first}</th>");
        if after.is_some() {
            let _ = write!(
                html,
                "<th class=\"number\"><span class=\"key after\"></span>{}</th><th class=\"number\">{}</th>",
                w.after, w.difference
            );
        }
        html.push_str("<th></th></tr></thead>\n<tbody>\n");
        let numbers = |before: i64, after: Option<i64>| {
            let mut cells = format!("<td class=\"number\">{}</td>", time(before));
            if let Some(after) = after {
                let difference = after.saturating_sub(before);
                let tone = match difference {
                    0 => "",
                    ..0 => " good",
                    _ => " bad",
                };
                let _ = write!(
                    cells,
                    "<td class=\"number\">{}</td><td class=\"number{tone}\">{}</td>",
                    time(after),
                    signed(difference)
                );
            }
            cells
        };
        for category in categories {
            let (first, second) = (
                find(before, category),
                after.map(|side| find(side, category)),
            );
            let mut bars = bar(first, most, "");
            bars.push_str(&second.map_or(String::new(), |ns| bar(ns, most, " after")));
            let _ = writeln!(
                html,
                "<tr><th scope=\"row\">{}</th>{}<td class=\"bars\">{bars}</td></tr>",
                escape(w.category(category)),
                numbers(first, second)
            );
        }
        let total = numbers(before.makespan.ns, after.map(|side| side.makespan.ns));
        let _ = writeln!(
            html,
            "<tr class=\"total\"><th scope=\"row\">{}</th>{total}<td></td></tr>",
            w.makespan
        );
        let mut ranges = format!("<td class=\"number range\">{}</td>", span(before.makespan));
        if let Some(after) = after {
            let _ = write!(
                ranges,
                "<td class=\"number range\">{}</td><td></td>",
                span(after.makespan)
            );
        }
        let _ = writeln!(
            html,
            "<tr><th scope=\"row\">{}</th>{ranges}<td></td></tr>",
            w.samples
        );
        if before.first_task_ns != 0 || after.is_some_and(|side| side.first_task_ns != 0) {
            let first = numbers(before.first_task_ns, after.map(|side| side.first_task_ns));
            let _ = writeln!(
                html,
                "<tr><th scope=\"row\">{}</th>{first}<td></td></tr>",
                w.first_task
            );
        }
        html.push_str("</tbody></table></div>\n");
        html
    }

    /// A bar per parameter, as wide as the range is when it varies alone; the widest first.
    fn tornado(&self, carriers: &[Carrier]) -> String {
        let w = self.words;
        let most = carriers
            .iter()
            .map(|carrier| carrier.width_ns)
            .max()
            .unwrap_or(0);
        let mut html = format!(
            "<div class=\"scroll\"><table>\n<thead><tr><th>{}</th><th class=\"number\">{}</th><th></th></tr></thead>\n<tbody>\n",
            w.parameter, w.width
        );
        for carrier in carriers {
            let pill = if carrier.calibrated {
                String::new()
            } else {
                format!(" <span class=\"pill\">{}</span>", w.uncalibrated)
            };
            let _ = writeln!(
                html,
                "<tr><th scope=\"row\">{name}{pill}<br><span class=\"sure\">{meaning}; {source_word}: {source}</span></th>\
                 <td class=\"number\">{width}</td><td class=\"bars\"><div class=\"tornado\">{bar}</div></td></tr>",
                name = escape(&carrier.parameter),
                meaning = escape(&carrier.meaning),
                source_word = w.source,
                source = escape(&carrier.source),
                width = time(carrier.width_ns),
                bar = bar(carrier.width_ns, most, ""),
            );
        }
        html.push_str("</tbody></table></div>\n");
        html
    }
}

/// A bar of `ns` where `most` takes the whole width.
fn bar(ns: i64, most: i64, class: &str) -> String {
    let share = 100.0 * ns.max(0) as f64 / most.max(1) as f64;
    format!("<div class=\"bar{class}\" style=\"width:{share:.2}%\"></div>")
}
