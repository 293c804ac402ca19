//! `ascsim gen`.

use std::fs;
use std::path::Path;

use ascsim_schedules::Expansion;
use ascsim_schedules::format::{self, Encoding};
use ascsim_schedules::generate::{
    Cache, CommMethod, Counts, GenerateError, Generated, ModelInfo, Phase, Request, Routing,
    STACKS, Weights, generate, models,
};
use serde::Serialize;

use crate::args::{self, Gen};
use crate::failure::{DONE, Failure};
use crate::output::{Target, write_json};

/// What `gen --list` prints as JSON.
#[derive(Serialize)]
struct List {
    format: &'static str,
    models: Vec<ModelInfo>,
    stacks: &'static [&'static str],
}

/// What was generated, for people and as JSON.
#[derive(Serialize)]
struct Summary {
    format: &'static str,
    name: String,
    ranks: u32,
    /// Per program: what one rank issues.
    programs: Vec<ProgramSummary>,
    /// Bytes of weights that a rank reads in the step.
    weight_bytes: f64,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ProgramSummary {
    name: String,
    captured: bool,
    counts: Counts,
}

/// Generates the schedule of a step from a model config. The summary goes to standard output, or to
/// standard error where the schedule goes there.
pub(crate) fn run(arguments: &Gen) -> Result<u8, Failure> {
    let Some(model) = arguments.model.as_deref().filter(|_| !arguments.list) else {
        return list(arguments.json);
    };
    let target = arguments
        .output
        .as_ref()
        .map(|path| Target::new(path, arguments.force));
    target.iter().try_for_each(Target::check)?;
    let generated = generate(&request(model, arguments)?).map_err(failure)?;
    let piped = target == Some(Target::Stdout);
    if let Some(target) = target {
        let encoding = if arguments.binary {
            Encoding::Binary
        } else {
            Encoding::Json
        };
        let bytes = format::to_bytes(&generated.schedule, encoding)
            .map_err(|error| Failure::Bug(error.to_string()))?;
        target.write(|out| out.write_all(&bytes))?;
    }
    let summary = summary(generated);
    if piped {
        anstream::eprint!("{}", text(&summary));
        return Ok(DONE);
    }
    Target::Stdout.write(|out| {
        if arguments.json {
            write_json(out, &summary)
        } else {
            out.write_all(text(&summary).as_bytes())
        }
    })?;
    Ok(DONE)
}

fn failure(error: GenerateError) -> Failure {
    if error.is_of_request() {
        Failure::input(error)
    } else {
        Failure::Bug(error.to_string())
    }
}

fn list(json: bool) -> Result<u8, Failure> {
    let models = models().map_err(failure)?;
    Target::Stdout.write(|out| {
        if json {
            let list = List {
                format: "ascsim.models/1",
                models,
                stacks: STACKS,
            };
            return write_json(out, &list);
        }
        for model in &models {
            let state = match &model.missing {
                Some(why) => format!("cannot be generated: {why}"),
                None => format!("{} layers", model.layers),
            };
            writeln!(out, "{:<20} {:<20} {state}", model.name, model.title)?;
        }
        writeln!(out, "\nstacks: {}", STACKS.join(", "))
    })?;
    Ok(DONE)
}

fn request(model: &str, arguments: &Gen) -> Result<Request, Failure> {
    let defaults = Request::new(model);
    // With experts over all ranks, the data-parallel ranks follow from the others.
    let dp = match arguments.dp {
        Some(dp) => dp,
        None => (arguments.ep / arguments.tp.max(1)).max(1),
    };
    let graph = match (arguments.graph, arguments.eager) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    Ok(Request {
        stack: arguments.stack.clone().unwrap_or(defaults.stack),
        phase: match arguments.phase {
            args::Phase::Decode => Phase::Decode,
            args::Phase::Prefill => Phase::Prefill,
        },
        batch: arguments.batch,
        context: arguments.context,
        tp: arguments.tp,
        ep: arguments.ep,
        dp,
        cp: arguments.cp,
        weights: arguments.weights.map(|weights| match weights {
            args::Weights::Bf16 => Weights::Bf16,
            args::Weights::W8a8 => Weights::W8a8,
            args::Weights::W4a8 => Weights::W4a8,
            args::Weights::W4a16 => Weights::W4a16,
        }),
        cache: match arguments.kv_cache {
            args::Cache::Bf16 => Cache::Bf16,
            args::Cache::Int8 => Cache::Int8,
        },
        comm: arguments.comm.map(|comm| match comm {
            args::Comm::AllReduce => CommMethod::AllReduce,
            args::Comm::ReduceScatter => CommMethod::ReduceScatterAllGather,
            args::Comm::Mc2 => CommMethod::Mc2,
            args::Comm::FusedMc2 => CommMethod::FusedMc2,
            args::Comm::AllToAll => CommMethod::AllToAll,
        }),
        expansion: arguments.expansion.map(|expansion| match expansion {
            args::ExpansionMode::Aiv => Expansion::Aiv,
            args::ExpansionMode::AiCpu => Expansion::AiCpu,
        }),
        routing: routing(&arguments.routing)?,
        speculative: arguments.speculative,
        acceptance: arguments.acceptance,
        overlap: arguments.overlap,
        mlapo: arguments.mlapo,
        static_kernels: arguments.static_kernels,
        graph,
        ..defaults
    })
}

/// `uniform`, `zipf:S`, or a file of counts.
fn routing(text: &str) -> Result<Routing, Failure> {
    if text == "uniform" {
        return Ok(Routing::Uniform);
    }
    if let Some(skew) = text.strip_prefix("zipf:") {
        let skew = skew
            .parse()
            .map_err(|_| Failure::Input(format!("--routing {text}: `{skew}` is not a number")))?;
        return Ok(Routing::Zipf { skew });
    }
    let Some(path) = text.strip_prefix("file:") else {
        let why = format!("--routing {text}: it is uniform, zipf:S or file:PATH");
        return Err(Failure::Input(why));
    };
    let path = Path::new(path);
    let text = fs::read_to_string(path).map_err(|source| Failure::Read {
        path: path.to_path_buf(),
        source,
    })?;
    let counts: Result<Vec<f64>, _> = text
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|word| !word.is_empty())
        .map(str::parse)
        .collect();
    let counts = counts.map_err(|error| {
        Failure::Input(format!(
            "{}: {error}; a histogram is one count per expert, separated by blanks or commas",
            path.display()
        ))
    })?;
    Ok(Routing::Histogram(counts))
}

fn summary(generated: Generated) -> Summary {
    let schedule = &generated.schedule;
    let program = |program: &ascsim_schedules::Program| ProgramSummary {
        name: program.name.to_string(),
        captured: program.capture.is_some(),
        counts: Counts::of_program(program),
    };
    Summary {
        format: "ascsim.generated/1",
        name: schedule.name.clone(),
        ranks: schedule.ranks.iter().map(|group| group.count).sum(),
        programs: schedule.programs.iter().map(program).collect(),
        weight_bytes: generated.weight_bytes,
        notes: generated.notes,
    }
}

fn text(summary: &Summary) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    let ranks = match summary.ranks {
        1 => "1 rank".to_owned(),
        n => format!("{n} ranks"),
    };
    // A string takes everything.
    let _ = writeln!(text, "{}, {ranks}; one rank issues per step:", summary.name);
    for program in &summary.programs {
        let counts = &program.counts;
        let how = if program.captured {
            "captured"
        } else {
            "eager"
        };
        let _ = writeln!(
            text,
            "  {:<6} {how:<9} {:>5} kernels {:>4} copies {:>4} collectives {:>4} event tasks {:>4} task updates",
            program.name,
            counts.all_kernels(),
            counts.all_copies(),
            counts.all_collectives(),
            counts.events,
            counts.updates,
        );
    }
    let _ = writeln!(
        text,
        "  reads {:.2} GB of weights",
        summary.weight_bytes / 1e9
    );
    for note in &summary.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    text
}
