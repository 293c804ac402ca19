//! `ascsim what-if`.

use ascsim_schedules::format::{self, Encoding};
use ascsim_schedules::rewrite::{Change, Note, catalogue};
use ascsim_sim::{EngineModel, Options, Origin};
use ascsim_studies::{Outcome, Setup, Step, StudyError, predict, what_if};

use crate::args::{Engines, WhatIf};
use crate::failure::{DONE, FINDINGS, Failure};
use crate::output::{Target, write_json};
use crate::progress::Progress;
use crate::{hardware, input, text};

/// The change that the built-in example is asked about where none is given.
const EXAMPLE_CHANGE: &str = "move-to-stream:select=module=moe.shared,stream=side";

/// Predicts what a change would do. A changed schedule that hangs is a finding.
pub(crate) fn run(arguments: &WhatIf) -> Result<u8, Failure> {
    if arguments.list {
        Target::Stdout.write(|out| out.write_all(list().as_bytes()))?;
        return Ok(DONE);
    }
    let targets = Targets::new(arguments)?;
    let steps = steps(arguments)?;
    let (options, model) = machine(arguments)?;
    let mut input = input::study(arguments.path.as_deref(), arguments.step, &options)?;
    input.notes.extend(model);
    let setup = Setup {
        // A change may move the first device task too, so both sides count from one instant.
        origin: Origin::Host,
        samples: arguments.samples,
        seed: arguments.seed,
        tool: concat!("ascsim ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let progress = Progress::new("simulating");
    let run = what_if(&input, &steps, &setup, &|share| progress.set(share)).map_err(failure)?;
    drop(progress);
    if let Some(target) = &targets.schedule {
        let bytes = format::to_bytes(&run.schedule, Encoding::Json).map_err(Failure::input)?;
        target.write(|out| out.write_all(&bytes))?;
    }
    if let Some(target) = &targets.prediction {
        let options = input
            .variants
            .last()
            .map_or(&options, |variant| &variant.options);
        let prediction = predict(&run.schedule, options, &setup).map_err(failure)?;
        let bytes = format::to_bytes(&prediction, Encoding::Json).map_err(Failure::input)?;
        target.write(|out| out.write_all(&bytes))?;
    }
    // The schedule has standard output for itself.
    if targets.schedule != Some(Target::Stdout) {
        Target::Stdout.write(|out| {
            if arguments.json {
                write_json(out, &run.result)
            } else {
                out.write_all(text::what_if::text(&run.result, text::columns()).as_bytes())
            }
        })?;
    }
    let hangs = run
        .result
        .answers
        .iter()
        .any(|answer| matches!(answer.after, Some(Outcome::Hangs(_))));
    Ok(if hangs { FINDINGS } else { DONE })
}

/// How the schedule is simulated, and what is to be said about it.
fn machine(arguments: &WhatIf) -> Result<(Options, Option<Note>), Failure> {
    if !arguments.hw.is_empty() {
        let model = hardware::model(&arguments.hw)?;
        let note = Note::assumption(format!(
            "hardware: chip `{}`, machine `{}`, software stack `{}`",
            model.chip, model.machine, model.stack
        ));
        return Ok((Options::on(&model), Some(note)));
    }
    let engines = match arguments.engines {
        None | Some(Engines::Exclusive) => EngineModel::Exclusive,
        Some(Engines::Unlimited) => EngineModel::Unlimited,
    };
    let options = Options {
        engines,
        ..Options::default()
    };
    Ok((options, None))
}

fn steps(arguments: &WhatIf) -> Result<Vec<Step>, Failure> {
    let example = [EXAMPLE_CHANGE.to_owned()];
    let texts = match (&arguments.path, arguments.apply.as_slice()) {
        (None, []) => example.as_slice(),
        (_, texts) => texts,
    };
    texts
        .iter()
        .map(|text| {
            let change = Change::parse(text).map_err(Failure::input)?;
            Ok(Step {
                text: text.clone(),
                change,
            })
        })
        .collect()
}

/// Where the files go. Checked before the work, so that a long run does not end in a refusal.
struct Targets {
    schedule: Option<Target>,
    prediction: Option<Target>,
}

impl Targets {
    fn new(arguments: &WhatIf) -> Result<Self, Failure> {
        let target = |path: &Option<std::path::PathBuf>| {
            let target = path.as_ref().map(|path| Target::new(path, arguments.force));
            target.iter().try_for_each(Target::check).map(|()| target)
        };
        let targets = Self {
            schedule: target(&arguments.output)?,
            prediction: target(&arguments.prediction)?,
        };
        let stdout = Some(Target::Stdout);
        if targets.prediction == stdout || (targets.schedule == stdout && arguments.json) {
            let why = "only one thing fits on standard output: write the other to a file";
            return Err(Failure::Input(why.to_owned()));
        }
        Ok(targets)
    }
}

fn failure(error: StudyError) -> Failure {
    match error {
        StudyError::HangsBefore(_) => Failure::Finding(error.to_string()),
        _ => Failure::input(error),
    }
}

/// The changes there are.
fn list() -> String {
    let mut text = String::new();
    for doc in catalogue() {
        text.push_str(&format!("{}: {}\n", doc.name, doc.summary));
        for key in doc.keys {
            let need = if key.required { "" } else { " (optional)" };
            text.push_str(&format!("    {}{need}: {}\n", key.name, key.meaning));
        }
        text.push_str(&format!("    for example {}\n", doc.example));
    }
    text
}
