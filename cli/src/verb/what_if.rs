//! `ascsim what-if`.

use ascsim_schedules::format::{self, Encoding};
use ascsim_schedules::rewrite::{Note, catalogue, split_changes};
use ascsim_sim::{EngineModel, Options, Origin};
use ascsim_studies::{
    Axis, Input, Outcome, Setup, Step, StudyError, SweepError, SweepQuestion, ladder, predict,
    sweep, what_if_given,
};

use crate::args::{Engines, WhatIf};
use crate::failure::{DONE, FINDINGS, Failure};
use crate::output::{Target, write_json};
use crate::plan::{self, Plan};
use crate::progress::Progress;
use crate::verb::report;
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
    let question = Question::new(arguments)?;
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
    if !arguments.sweep.is_empty() {
        return run_sweep(arguments, question, &input, &setup, targets.csv.as_ref());
    }
    if arguments.ladder.is_some() {
        return run_ladder(arguments, &question, &input, &setup);
    }
    let (given, steps) = (steps(&question.given)?, steps(&question.changes)?);
    let progress = Progress::new("simulating");
    let run = what_if_given(&input, &given, &steps, &setup, &|share| progress.set(share))
        .map_err(failure)?;
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
    if let Some(target) = &targets.report {
        let command = report::repeat();
        report::write(&run, &input, &command, arguments.lang, target)?;
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

/// What is asked: the changes as texts.
struct Question {
    given: Vec<String>,
    changes: Vec<String>,
}

impl Question {
    fn new(arguments: &WhatIf) -> Result<Self, Failure> {
        let mut plan = match &arguments.plan {
            Some(path) => plan::read(path)?,
            None => Plan::default(),
        };
        plan.given.extend(arguments.given.iter().cloned());
        plan.changes.extend(arguments.apply.iter().cloned());
        if let Some(ladder) = arguments.ladder.as_deref().filter(|text| !text.is_empty()) {
            plan.changes.extend(split_changes(ladder));
        }
        if arguments.path.is_none() && plan.changes.is_empty() && arguments.sweep.is_empty() {
            plan.changes.push(EXAMPLE_CHANGE.to_owned());
        }
        Ok(Self {
            given: plan.given,
            changes: plan.changes,
        })
    }
}

fn steps(texts: &[String]) -> Result<Vec<Step>, Failure> {
    let steps = texts.iter().map(|text| Step::parse(text));
    steps.collect::<Result<_, _>>().map_err(Failure::input)
}

/// Applies the changes one after another, and shows what each adds.
fn run_ladder(
    arguments: &WhatIf,
    question: &Question,
    input: &Input,
    setup: &Setup,
) -> Result<u8, Failure> {
    let (given, steps) = (steps(&question.given)?, steps(&question.changes)?);
    if steps.is_empty() {
        let why = "--ladder needs changes: name them, as in --ladder graph:us=20,one-stream";
        return Err(Failure::Input(why.to_owned()));
    }
    let progress = Progress::new("simulating");
    let result =
        ladder(input, &given, &steps, setup, &|share| progress.set(share)).map_err(failure)?;
    drop(progress);
    Target::Stdout.write(|out| {
        if arguments.json {
            write_json(out, &result)
        } else {
            out.write_all(text::ladder::text(&result, text::columns()).as_bytes())
        }
    })?;
    let hangs = result.rungs.iter().any(|rung| rung.hangs.is_some());
    Ok(if hangs { FINDINGS } else { DONE })
}

/// Sweeps keys over their ranges. Points that hang or are refused are part of the answer.
fn run_sweep(
    arguments: &WhatIf,
    question: Question,
    input: &Input,
    setup: &Setup,
    csv: Option<&Target>,
) -> Result<u8, Failure> {
    let axes: Result<Vec<Axis>, _> = arguments
        .sweep
        .iter()
        .map(|text| Axis::parse(text))
        .collect();
    let question = SweepQuestion {
        given: question.given,
        changes: question.changes,
        axes: axes.map_err(Failure::input)?,
        points: arguments.points.map(|points| points as usize),
    };
    let progress = Progress::new("simulating");
    let result =
        sweep(input, &question, setup, &|share| progress.set(share)).map_err(
            |error| match error {
                SweepError::Study(error) => failure(error),
                error => Failure::input(error),
            },
        )?;
    drop(progress);
    if let Some(target) = csv {
        target.write(|out| out.write_all(text::sweep::csv(&result).as_bytes()))?;
    }
    if csv != Some(&Target::Stdout) {
        Target::Stdout.write(|out| {
            if arguments.json {
                write_json(out, &result)
            } else {
                out.write_all(text::sweep::text(&result, text::columns()).as_bytes())
            }
        })?;
    }
    Ok(if result.best.is_none() {
        FINDINGS
    } else {
        DONE
    })
}

/// Where the files go. Checked before the work, so that a long run does not end in a refusal.
struct Targets {
    schedule: Option<Target>,
    prediction: Option<Target>,
    csv: Option<Target>,
    report: Option<Target>,
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
            csv: target(&arguments.csv)?,
            report: target(&arguments.report)?,
        };
        let stdout = Some(Target::Stdout);
        let several = arguments.ladder.is_some() || !arguments.sweep.is_empty();
        let of_one = [&targets.schedule, &targets.prediction, &targets.report];
        if several && of_one.iter().any(|target| target.is_some()) {
            let why =
                "-o, --prediction and --report are for one answer, not for --ladder or --sweep";
            return Err(Failure::Input(why.to_owned()));
        }
        let side_files = [&targets.prediction, &targets.report];
        if (targets.csv == stdout && arguments.json)
            || side_files.contains(&&stdout)
            || (targets.schedule == stdout && arguments.json)
        {
            let why = "only one thing fits on standard output: write the other to a file";
            return Err(Failure::Input(why.to_owned()));
        }
        Ok(targets)
    }
}

pub(super) fn failure(error: StudyError) -> Failure {
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
