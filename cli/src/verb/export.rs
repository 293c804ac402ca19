//! `ascsim export`.

use ascsim_report::export::{self, Format, Named};
use ascsim_studies::{Outcome, StepTimeline};

use super::report;
use crate::args::{Export, ExportFormat, ResultSide};
use crate::failure::{DONE, Failure};
use crate::input::{self, Drawable};
use crate::output::Target;

/// Writes a timeline in the format of another tool.
pub(crate) fn run(arguments: &Export) -> Result<u8, Failure> {
    let target = Target::new(&arguments.output, arguments.force);
    target.check()?;
    let options = report::options(arguments.engines);
    let (mut before, mut after) = match input::drawable(&arguments.path, arguments.step, &options)?
    {
        Drawable::Study(input) => {
            if arguments.side.is_some() {
                let why = "--side chooses a side of a what-if result, but the input is none";
                return Err(Failure::Input(why.to_owned()));
            }
            (report::timeline(&input)?, None)
        }
        Drawable::Result(result) => {
            let answer = result
                .answer()
                .ok_or_else(|| Failure::Input("the result holds no answer".to_owned()))?;
            let after = match &answer.after {
                Some(Outcome::Ends(side)) => Some(StepTimeline::of_side(side)),
                _ => None,
            };
            (StepTimeline::of_side(&answer.before), after)
        }
    };
    if let Some(rank) = arguments.rank {
        before = of_rank(&before, rank)?;
        after = after.map(|after| of_rank(&after, rank)).transpose()?;
    }
    let named = |name, step| Named { name, step };
    let format = match arguments.to {
        ExportFormat::Chrome => Format::Chrome,
        ExportFormat::Perfetto => Format::Perfetto,
        ExportFormat::Csv => Format::Csv,
        ExportFormat::Dot => Format::Dot,
        ExportFormat::Svg => Format::Svg,
    };
    let (shown, above) = match (arguments.side, &after) {
        (None, None) => (named("predicted", &before), None),
        (Some(ResultSide::Before), _) => (named("before", &before), None),
        (Some(ResultSide::After), Some(after)) => (named("after", after), None),
        (None, Some(after)) => (named("after", after), Some(named("before", &before))),
        (Some(ResultSide::After), None) => {
            let why = "the result has no timeline after a change";
            return Err(Failure::Input(why.to_owned()));
        }
    };
    target.write(|out| export::write(format, shown, above, out))?;
    Ok(DONE)
}

fn of_rank(step: &StepTimeline, rank: u32) -> Result<StepTimeline, Failure> {
    let chosen = step.of_rank(rank);
    if chosen.lanes.is_empty() {
        let mut ranks: Vec<u32> = step.lanes.iter().map(|lane| lane.rank).collect();
        ranks.dedup();
        let shown: Vec<String> = ranks.iter().take(20).map(u32::to_string).collect();
        let more = if ranks.len() > 20 { ", …" } else { "" };
        let why = format!(
            "there is no rank {rank}; there are {}{more}",
            shown.join(", ")
        );
        return Err(Failure::Input(why));
    }
    Ok(chosen)
}
