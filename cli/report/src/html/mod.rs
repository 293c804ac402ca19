//! One self-contained HTML file: the answer in words and numbers, which needs no script, and the
//! timeline, which our own script draws.

mod answer;
mod compare;
mod encode;
mod page;
mod words;

use std::io::{self, Write};

use ascsim_studies::{StepTimeline, WhatIf};

pub use words::Language;

use compare::Marks;
use page::{Page, Panel};
use words::Words;

/// A what-if result, or the prediction of a schedule or profile (a result without a change), as a
/// report.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The result.
    pub result: &'a WhatIf,
    /// The timeline before the change.
    pub before: &'a StepTimeline,
    /// The timeline after it; absent where there is no change, or the changed schedule hangs.
    pub after: Option<&'a StepTimeline>,
    /// Whether the timelines hold only what a result keeps, so that the report can say so.
    pub short: bool,
    /// The command that makes this report again.
    pub command: &'a str,
    /// The language.
    pub language: Language,
}

impl Report<'_> {
    /// Writes the report.
    ///
    /// # Errors
    /// Of the writer.
    ///
    /// # Complexity
    /// O(rows + links) time and memory.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let words = Words::of(self.language);
        let (before, after) = match self.after {
            Some(after) => {
                let (first, second) = Marks::pair(self.before, after);
                (first, Some((after, second)))
            }
            None => (Marks::none(self.before), None),
        };
        let mut panels = vec![Panel {
            title: match after {
                Some(_) => words.before,
                None => words.predicted,
            },
            step: self.before,
            marks: before,
        }];
        panels.extend(after.map(|(step, marks)| Panel {
            title: words.after,
            step,
            marks,
        }));
        let body = answer::Answers {
            report: self,
            words,
        };
        let page = Page {
            words,
            title: body.title(),
            tool: &self.result.tool,
            head: body.head(),
            body: body.body(),
            panels,
        };
        page.write(out)
    }
}
