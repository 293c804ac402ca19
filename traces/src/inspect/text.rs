//! The report as text.

use std::fmt::{self, Write as _};

use super::{InspectReport, LinkReport, StepReport, Verdict};
use crate::time::format_us;

/// A table with a header; columns as wide as their widest cell.
#[derive(Debug, Default)]
struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new(header: &[&str]) -> Self {
        Self {
            rows: vec![header.iter().map(|cell| (*cell).to_owned()).collect()],
        }
    }

    fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Writes the table, indented; numbers to the right, words to the left.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        };
        let is_number = |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let is_right = |column: usize| {
            let mut cells = self.rows.iter().skip(1).filter_map(|row| row.get(column));
            cells.all(is_number)
        };
        let layout: Vec<(usize, bool)> = (0..columns)
            .map(|column| (width(column), is_right(column)))
            .collect();
        for row in &self.rows {
            let mut line = String::from(" ");
            for (cell, (width, is_right)) in row.iter().zip(&layout) {
                if *is_right {
                    write!(line, " {cell:>width$} ")?;
                } else {
                    write!(line, " {cell:<width$} ")?;
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// `1 stream`, `2 streams`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for InspectReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.capture(f)?;
        self.steps(f)?;
        self.streams(f)?;
        self.engines(f)?;
        self.collectives(f)?;
        self.links(f)?;
        self.caveats(f)
    }
}

impl InspectReport {
    fn capture(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meta = &self.capture;
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "not recorded".into());
        writeln!(f, "{}: {}", self.path, meta.source)?;
        let clock = match meta.core_mhz {
            Some((low, high)) if low == high => format!(", {low} MHz"),
            Some((low, high)) => format!(", {low} to {high} MHz"),
            None => String::new(),
        };
        let rank = meta
            .rank
            .map_or("not recorded".into(), |rank| rank.to_string());
        writeln!(f, "  rank {rank}, chip {}{clock}", known(&meta.chip))?;
        writeln!(
            f,
            "  CANN {}, torch_npu {}",
            known(&meta.cann),
            known(&meta.torch_npu)
        )?;
        let metrics = known(&meta.aic_metrics);
        writeln!(
            f,
            "  profiler level {}, counters {metrics}",
            known(&meta.level)
        )?;
        writeln!(
            f,
            "  {} tasks on {} in {} µs, {} host calls",
            self.tasks,
            counted(self.streams.len(), "stream"),
            format_us(self.span.len()),
            self.host_calls
        )
    }

    fn steps(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nsteps (µs)")?;
        let mut table = Table::new(&[
            "step",
            "window",
            "computing",
            "communication",
            "overlapped",
            "not overlapped",
            "free",
            "preparing",
        ]);
        for StepReport { times, .. } in &self.steps {
            table.row([
                times.step.map_or("all".to_owned(), |step| step.to_string()),
                format_us(times.window.len()),
                format_us(times.computing_ns),
                format_us(times.communication_ns),
                format_us(times.overlapped_ns),
                format_us(times.not_overlapped_ns),
                times.free_ns.map_or("unknown".to_owned(), format_us),
                times.preparing_ns.map_or("-".to_owned(), format_us),
            ]);
        }
        table.write(f)?;
        let compared = self
            .steps
            .iter()
            .filter_map(|step| step.worst_difference_ns());
        if let Some(worst) = compared.max() {
            writeln!(
                f,
                "  largest difference from the profiler's own step times: {} µs",
                format_us(worst)
            )?;
        }
        Ok(())
    }

    fn streams(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nstreams (µs of {})", format_us(self.span.len()))?;
        let mut table = Table::new(&["stream", "tasks", "busy", "waiting", "idle", "engines"]);
        for row in &self.streams {
            let engines: Vec<&str> = row.engines.iter().map(|engine| engine.label()).collect();
            let groups = if row.has_groups {
                " (FFTS+ groups)"
            } else {
                ""
            };
            table.row([
                row.stream.to_string(),
                row.tasks.to_string(),
                format_us(row.busy_ns),
                format_us(row.waiting_ns),
                format_us(row.idle_ns),
                format!("{}{groups}", engines.join(" ")),
            ]);
        }
        table.write(f)
    }

    fn engines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nengines (µs)")?;
        let mut table = Table::new(&["engine", "tasks", "of collectives", "busy", "sum"]);
        for row in &self.engines {
            table.row([
                row.engine.label().to_owned(),
                row.tasks.to_string(),
                row.carry_collectives.to_string(),
                format_us(row.busy_ns),
                format_us(row.time_ns),
            ]);
        }
        table.write(f)
    }

    fn collectives(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.collectives.is_empty() {
            return Ok(());
        }
        writeln!(f, "\ncollectives (µs, waiting included)")?;
        let mut table = Table::new(&["operation", "algorithm", "type", "count", "elements", "sum"]);
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        for row in &self.collectives {
            table.row([
                row.operation.clone(),
                known(&row.algorithm),
                known(&row.data_type),
                row.count.to_string(),
                row.elements.to_string(),
                format_us(row.time_ns),
            ]);
        }
        table.write(f)
    }

    fn links(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkReport {
            host, event_waits, ..
        } = &self.links;
        writeln!(f, "\nlinks")?;
        writeln!(
            f,
            "  tasks to host calls: {} of {}",
            host.linked, host.tasks
        )?;
        if host.before_call > 0 {
            writeln!(
                f,
                "    {} start before their call on the recorded clocks, {} still do with the device clock set {} µs later",
                host.before_call,
                host.violated,
                format_us(self.links.clock_offset_ns)
            )?;
        }
        writeln!(
            f,
            "  event waits: {} paired, {} guessed by order, {} open, {} violated; {} blocked",
            event_waits.paired,
            event_waits.guessed,
            event_waits.open,
            event_waits.violated,
            self.links.blocking_waits
        )?;
        if self.links.notify_records + self.links.notify_waits > 0 {
            writeln!(
                f,
                "  notifies: {} records, {} waits; they pair with the captures of other ranks",
                self.links.notify_records, self.links.notify_waits
            )?;
        }
        if !self.collectives.is_empty() {
            writeln!(
                f,
                "  collectives: carried by {} tasks, {} without any",
                self.links.carry_collectives, self.links.collectives_without_tasks
            )?;
        }
        Ok(())
    }

    fn caveats(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.perturbation.verdict {
            Verdict::Clean => "not perturbed",
            Verdict::Perturbed => "PERTURBED",
            Verdict::Suspected => "SUSPECTED TO BE PERTURBED",
            Verdict::Unknown => "perturbation unknown",
        };
        writeln!(f, "\ntimeline: {word}\n  {}", self.perturbation.text)?;
        for (label, gaps) in [
            ("kernel to kernel", self.perturbation.gaps),
            (
                "of these, queued long before",
                self.perturbation.queued_gaps,
            ),
        ] {
            if let Some(gaps) = gaps {
                writeln!(
                    f,
                    "  gaps {label}: {}, least {} µs, median {} µs",
                    gaps.count,
                    format_us(gaps.min_ns),
                    format_us(gaps.median_ns)
                )?;
            }
        }
        if !self.missing.is_empty() {
            writeln!(f, "\nmissing")?;
            for missing in &self.missing {
                writeln!(f, "  {}: forbids {}", missing.lane.label(), missing.forbids)?;
                writeln!(f, "    {}", missing.remedy)?;
            }
        }
        if !self.notes.is_empty() {
            writeln!(f, "\nnotes")?;
            for note in &self.notes {
                writeln!(f, "  {}", note.text)?;
            }
        }
        Ok(())
    }
}

impl StepReport {
    /// The largest difference between our times and the profiler's, ns.
    fn worst_difference_ns(&self) -> Option<i64> {
        let (ours, theirs) = (&self.times, self.profiler?);
        [
            (ours.computing_ns, theirs.computing_ns),
            (ours.communication_ns, theirs.communication_ns),
            (ours.overlapped_ns, theirs.overlapped_ns),
            (ours.not_overlapped_ns, theirs.not_overlapped_ns),
            (ours.free_ns.unwrap_or(theirs.free_ns), theirs.free_ns),
        ]
        .into_iter()
        .map(|(ours, theirs)| ours.saturating_sub(theirs).saturating_abs())
        .max()
    }
}
