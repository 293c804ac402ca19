//! `ascsim run`.

mod emulator;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ascsim_exec::acl::Acl;
use ascsim_exec::profile::{self, StepSpan};
use ascsim_exec::{
    AclBackend, Backend, Bindings, Checked, Executor, Mode, NullBackend, RunError, Silent, TaskSpan,
};
use ascsim_schedules::flat::Flat;
use serde::Serialize;

use crate::args::{BackendName, Run};
use crate::failure::{DONE, Failure};
use crate::output::{Target, write_json};
use crate::progress::Progress;
use crate::{input, text};

/// What was run, and how long it took.
#[derive(Debug, Serialize)]
struct Report {
    format: &'static str,
    tool: &'static str,
    schedule: String,
    structure: String,
    backend: String,
    mode: &'static str,
    ranks: usize,
    /// Submissions of one step.
    submissions: usize,
    steps: u64,
    /// What `step_ns` was read on: the emulator's clock, or the host's.
    clock: &'static str,
    step_ns: Times,
}

/// Times of the steps in ns.
#[derive(Debug, Default, Serialize)]
struct Times {
    least: u64,
    mean: u64,
    most: u64,
}

/// What was recorded.
#[derive(Debug, Default)]
struct Recorded {
    steps: Vec<StepSpan>,
    spans: Vec<TaskSpan>,
}

/// Runs a schedule and says what was run.
pub(crate) fn run(arguments: &Run) -> Result<u8, Failure> {
    if arguments.trace.is_some() && arguments.backend != BackendName::Emulator {
        let why = "--trace records the emulator only so far; on devices, run the profiler of CANN \
                   beside and import what it writes";
        return Err(Failure::Input(why.to_owned()));
    }
    let schedule = input::schedule(&arguments.path)?;
    let certificate = input::certificate(&arguments.certificate)?;
    let checked = Checked::new(&schedule, &certificate).map_err(refused)?;
    let (report, recorded) = match arguments.backend {
        BackendName::Null => {
            let executor = executor(arguments, &checked, NullBackend::of(&certificate))?;
            steps(arguments, &checked, executor, |_| Ok(None))?
        }
        BackendName::Acl => {
            let acl = open(arguments.library.as_deref().map(Path::as_os_str))?;
            on_acl(arguments, &checked, &acl)?
        }
        BackendName::Emulator => {
            let acl = emulator::open(arguments.library.as_deref(), &certificate)?;
            on_acl(arguments, &checked, &acl)?
        }
    };
    if let Some(folder) = &arguments.trace {
        let flat = Flat::new(&schedule).map_err(Failure::input)?;
        write_profiles(folder, arguments.force, &flat, &recorded)?;
    }
    Target::Stdout.write(|out| {
        if arguments.json {
            return write_json(out, &report);
        }
        out.write_all(for_people(&report).as_bytes())
    })?;
    Ok(DONE)
}

fn open(library: Option<&OsStr>) -> Result<Arc<Acl>, Failure> {
    Acl::open(library).map(Arc::new).map_err(Failure::input)
}

fn on_acl(
    arguments: &Run,
    checked: &Checked<'_>,
    acl: &Arc<Acl>,
) -> Result<(Report, Recorded), Failure> {
    let backend = AclBackend::new(Arc::clone(acl), 0).map_err(Failure::input)?;
    let executor = executor(arguments, checked, backend)?;
    let clock = |backend: &mut AclBackend| {
        let acl = backend.acl();
        acl.is_emulator().then(|| acl.emulator_clock()).transpose()
    };
    let result = steps(arguments, checked, executor, |backend| {
        clock(backend).map_err(Failure::input)
    });
    // Only after the backend has given back what it had.
    let finalized = acl.finalize().map_err(Failure::input);
    let result = result?;
    finalized?;
    Ok(result)
}

fn executor<B: Backend>(
    arguments: &Run,
    checked: &Checked<'_>,
    backend: B,
) -> Result<Executor<B>, Failure> {
    let mode = if arguments.graph {
        Mode::Graph
    } else {
        Mode::Eager
    };
    // Standard input is in no folder: paths start from the current one.
    let folder = arguments.path.parent().map(Path::to_path_buf);
    let bindings = Bindings {
        folder,
        ..Bindings::default()
    };
    Executor::new(checked, backend, bindings, mode, arguments.timeout).map_err(refused)
}

/// Nothing was run: the schedule, its certificate or the devices are not what they must be.
fn refused(error: impl Into<RunError>) -> Failure {
    Failure::input(error.into())
}

/// Runs the steps. `clock` reads the clock of the devices, if they have one that is exact.
fn steps<B: Backend>(
    arguments: &Run,
    checked: &Checked<'_>,
    mut executor: Executor<B>,
    clock: impl Fn(&mut B) -> Result<Option<u64>, Failure>,
) -> Result<(Report, Recorded), Failure> {
    let progress = Progress::new("running");
    let mut recorded = Recorded::default();
    let mut times = Times {
        least: u64::MAX,
        ..Times::default()
    };
    let mut total = 0_u128;
    let mut emulated = false;
    for number in 0..arguments.steps {
        if number % 64 == 0 {
            progress.set(number as f64 / arguments.steps as f64);
        }
        let (began, before) = (Instant::now(), clock(executor.backend())?);
        // A step that failed has been aborted, and what it held is given back when this returns.
        executor
            .run_step(&mut Silent)
            .map_err(|error| Failure::Finding(error.to_string()))?;
        let elapsed = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let after = clock(executor.backend())?;
        let ns = match (before, after) {
            (Some(start_ns), Some(end_ns)) => {
                emulated = true;
                if arguments.trace.is_some() {
                    let spans = executor.backend().take_spans().map_err(Failure::input)?;
                    recorded.spans.extend(spans.unwrap_or_default());
                    recorded.steps.push(StepSpan {
                        number,
                        start_ns,
                        end_ns,
                    });
                }
                end_ns - start_ns
            }
            _ => elapsed,
        };
        times.least = times.least.min(ns);
        times.most = times.most.max(ns);
        total += u128::from(ns);
    }
    drop(progress);
    times.mean = u64::try_from(total / u128::from(arguments.steps)).unwrap_or(u64::MAX);
    let plan = executor.plan();
    let report = Report {
        format: "ascsim.run/1",
        tool: concat!("ascsim ", env!("CARGO_PKG_VERSION")),
        schedule: checked.schedule().name.clone(),
        structure: checked.certificate().structure.clone(),
        backend: executor.backend_name().to_owned(),
        mode: if arguments.graph { "graph" } else { "eager" },
        ranks: plan.resources.ranks.len(),
        submissions: plan.steps.len(),
        steps: arguments.steps,
        clock: if emulated { "emulator" } else { "host" },
        step_ns: times,
    };
    executor.close().map_err(Failure::input)?;
    Ok((report, recorded))
}

/// Writes what was recorded as one profile per rank.
fn write_profiles(
    folder: &Path,
    force: bool,
    flat: &Flat<'_>,
    recorded: &Recorded,
) -> Result<(), Failure> {
    for (index, (rank, _)) in flat.ranks().iter().enumerate() {
        let own = folder.join(format!("rank{rank}"));
        let output = own.join("ASCEND_PROFILER_OUTPUT");
        fs::create_dir_all(&output).map_err(|source| Failure::Write {
            path: output.clone(),
            source,
        })?;
        let file = |path| Target::File { path, force };
        file(output.join("trace_view.json"))
            .write(|out| profile::timeline(out, flat, index, &recorded.steps, &recorded.spans))?;
        file(output.join("kernel_details.csv"))
            .write(|out| profile::kernels(out, flat, index, &recorded.spans))?;
        file(own.join(format!("profiler_info_{rank}.json")))
            .write(|out| profile::settings(out, *rank))?;
    }
    Ok(())
}

fn for_people(report: &Report) -> String {
    let steps = if report.steps == 1 { "step" } else { "steps" };
    let ranks = if report.ranks == 1 { "rank" } else { "ranks" };
    let time = |ns| text::time(i64::try_from(ns).unwrap_or(i64::MAX));
    let spread = if report.step_ns.least == report.step_ns.most {
        String::new()
    } else {
        format!(
            ", {} to {}",
            time(report.step_ns.least),
            time(report.step_ns.most)
        )
    };
    format!(
        "ran {} {steps} of {} on {}, {}: {} {ranks}, {} submissions a step\n\
         a step took {}{spread} by the {}'s clock\n",
        report.steps,
        text::shown(&report.schedule, 60),
        text::shown(&report.backend, 200),
        report.mode,
        report.ranks,
        report.submissions,
        time(report.step_ns.mean),
        report.clock,
    )
}
