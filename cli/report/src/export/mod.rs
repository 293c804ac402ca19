//! Timelines in the formats of other tools.
//!
//! All of them hold whole ns: the Chrome form writes µs with three decimals, Perfetto counts ns.

mod chrome;
mod csv;
mod dot;
mod perfetto;
mod svg;

use std::io::{self, Write};

use ascsim_studies::StepTimeline;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Chrome trace events as JSON, in the lanes of a `torch_npu` profile: `chrome://tracing`,
    /// MindStudio Insight, Perfetto, and ascsim itself.
    Chrome,
    /// Perfetto's protobuf, with flow arrows.
    Perfetto,
    /// One row per task and call, for notebooks.
    Csv,
    /// The graph of the tasks for Graphviz.
    Dot,
    /// A picture.
    Svg,
}

/// A timeline with what it is called.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The name, for people: `before`, `after`.
    pub name: &'a str,
    /// The timeline.
    pub step: &'a StepTimeline,
}

/// Writes `step` to `out`. A picture shows `before` above it, where there is one.
///
/// # Errors
/// Of the writer.
///
/// # Complexity
/// O(rows + links).
pub fn write(
    format: Format,
    step: Named<'_>,
    before: Option<Named<'_>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Chrome => chrome::write(step.step, out),
        Format::Perfetto => perfetto::write(step.step, out),
        Format::Csv => csv::write(step.step, out),
        Format::Dot => dot::write(step.step, out),
        Format::Svg => {
            let both: Vec<Named<'_>> = before.into_iter().chain([step]).collect();
            svg::write(&both, out)
        }
    }
}
