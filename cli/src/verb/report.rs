//! `ascsim report`, and the report that `what-if` writes.

use ascsim_report::{Language, Report};
use ascsim_sim::{EngineModel, Options, Origin};
use ascsim_studies::{
    Input, Outcome, Setup, StepTimeline, StudyError, Variant, WhatIf, WhatIfRun, what_if,
};

use super::what_if::failure;
use crate::args::{Engines, Lang, Report as Arguments};
use crate::failure::{DONE, Failure};
use crate::input::{self, Drawable};
use crate::output::Target;
use crate::progress::Progress;

/// Writes a result, or the prediction of a schedule or profile, as HTML.
pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let target = Target::new(&arguments.output, arguments.force);
    target.check()?;
    let options = options(arguments.engines);
    match input::drawable(&arguments.path, arguments.step, &options)? {
        Drawable::Result(result) => of_result(&result, arguments.lang, &target)?,
        Drawable::Study(input) => {
            let setup = Setup {
                origin: Origin::Host,
                samples: arguments.samples,
                seed: arguments.seed,
                tool: concat!("ascsim ", env!("CARGO_PKG_VERSION")).to_owned(),
            };
            let progress = Progress::new("simulating");
            let run =
                what_if(&input, &[], &setup, &|share| progress.set(share)).map_err(failure)?;
            drop(progress);
            write(&run, &input, &repeat(), arguments.lang, &target)?;
        }
    }
    Ok(DONE)
}

/// How a schedule without a hardware model is simulated.
pub(super) fn options(engines: Engines) -> Options {
    Options {
        engines: match engines {
            Engines::Exclusive => EngineModel::Exclusive,
            Engines::Unlimited => EngineModel::Unlimited,
        },
        ..Options::default()
    }
}

/// The timeline of the reading of an input that counts.
///
/// # Errors
/// If it cannot be simulated.
pub(super) fn timeline(input: &Input) -> Result<StepTimeline, Failure> {
    let variant = last(input)?;
    StepTimeline::new(&variant.schedule, &variant.options).map_err(failure)
}

fn last(input: &Input) -> Result<&Variant, Failure> {
    let variant = input.variants.last();
    variant.ok_or_else(|| failure(StudyError::Empty))
}

/// Writes the report of a study that has just run.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn write(
    run: &WhatIfRun,
    input: &Input,
    command: &str,
    lang: Lang,
    target: &Target,
) -> Result<(), Failure> {
    let before = timeline(input)?;
    let ends = run
        .result
        .answer()
        .is_some_and(|answer| matches!(answer.after, Some(Outcome::Ends(_))));
    let after = ends
        .then(|| StepTimeline::new(&run.schedule, &last(input)?.options).map_err(failure))
        .transpose()?;
    let report = Report {
        result: &run.result,
        before: &before,
        after: after.as_ref(),
        short: false,
        command,
        language: language(lang),
    };
    target.write(|out| report.write(out))
}

/// Writes the report of a saved result, from what it keeps.
fn of_result(result: &WhatIf, lang: Lang, target: &Target) -> Result<(), Failure> {
    let answer = result
        .answer()
        .ok_or_else(|| Failure::Input("the result holds no answer".to_owned()))?;
    let before = StepTimeline::of_side(&answer.before);
    let after = match &answer.after {
        Some(Outcome::Ends(side)) => Some(StepTimeline::of_side(side)),
        _ => None,
    };
    let mut words = vec!["ascsim".to_owned(), "what-if".to_owned()];
    if result.source.kind != ascsim_studies::SourceKind::BuiltIn {
        words.push(result.source.path.clone());
    }
    for change in &result.changes {
        words.extend(["--apply".to_owned(), change.change.clone()]);
    }
    let command = quoted(words);
    let report = Report {
        result,
        before: &before,
        after: after.as_ref(),
        short: true,
        command: &command,
        language: language(lang),
    };
    target.write(|out| report.write(out))
}

fn language(lang: Lang) -> Language {
    match lang {
        Lang::En => Language::English,
        Lang::Zh => Language::Chinese,
    }
}

/// The command line of this run, for a shell.
pub(super) fn repeat() -> String {
    let arguments = std::env::args_os().skip(1);
    let words = arguments.map(|word| word.to_string_lossy().into_owned());
    quoted(std::iter::once("ascsim".to_owned()).chain(words))
}

/// Words as a shell reads them.
fn quoted(words: impl IntoIterator<Item = String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let words = words.into_iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn commands_are_quoted_for_a_shell() {
        let words = ["ascsim", "a b", "it's", "k=v*", ""].map(str::to_owned);
        assert_eq!(quoted(words), r"ascsim 'a b' 'it'\''s' 'k=v*' ''");
    }
}
