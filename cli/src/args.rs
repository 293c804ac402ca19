//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Simulate, check and run multi-stream schedules for Ascend 910C.
///
/// Exit codes: 0 done, 1 findings or a missed expectation, 2 bad input or usage, 70 a fault of
/// ascsim.
#[derive(Debug, Parser)]
#[command(
    name = "ascsim",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Predict what a change of the schedule would do.
    #[command(after_help = WHAT_IF_HELP)]
    WhatIf(WhatIf),
    /// Prove a schedule free of deadlock and race, or show what is wrong.
    #[command(
        after_help = "Examples:\n  ascsim check schedule.json\n  ascsim check prof_dir --format sarif\n  ascsim check schedule.json --fix mended.json --certify certificate.json\n  ascsim check --explain race-access"
    )]
    Check(Check),
    /// Generate the schedule of a step from a model config.
    #[command(
        after_help = "Examples:\n  ascsim gen --list\n  ascsim gen qwen3.5-35b-a3b --tp 2\n  ascsim gen qwen3.5-35b-a3b --tp 2 --overlap -o - | ascsim check -\n  ascsim gen deepseek-v3 --ep 16 --batch 8 -o step.json"
    )]
    Gen(Box<Gen>),
    /// Sum a profile up: chip, streams, steps, what is perturbed and what is missing.
    #[command(
        after_help = "Examples:\n  ascsim inspect prof_dir\n  ascsim inspect prof_dir --json | jq .steps"
    )]
    Inspect(Inspect),
    /// Recover the schedule that a profile shows.
    #[command(
        after_help = "Examples:\n  ascsim import prof_dir -o schedule.json\n  ascsim import rank0 rank1 --step 50 -o -"
    )]
    Import(Import),
    /// Simulate the schedule that a profile shows, and compare with what it recorded.
    #[command(after_help = "Examples:\n  ascsim replay prof_dir\n  ascsim replay prof_dir --json")]
    Replay(Replay),
    /// Write a profile again without what should not leave a company.
    ///
    /// Kept are names of kernels, ops and calls, times, ids and versions. Dropped are call stacks, paths, ids
    /// of communication groups (they hold addresses of hosts) and variables of the environment that are
    /// no number or switch; shapes if asked for.
    #[command(
        after_help = "Examples:\n  ascsim anonymise prof_dir -o shared\n  ascsim anonymise prof_dir -o shared --drop-shapes --form text"
    )]
    Anonymise(Anonymise),
    /// Run a checked schedule on devices, or on the emulator of devices.
    #[command(after_help = RUN_HELP)]
    Run(Run),
    /// Show a schedule as text, and its hashes.
    #[command(
        after_help = "Examples:\n  ascsim show schedule.json\n  ascsim import prof_dir -o - | ascsim show -"
    )]
    Show(Show),
    /// Show the hardware and software-stack profiles there are.
    #[command(subcommand, after_help = HW_HELP)]
    Hw(Hw),
    /// Write a what-if result, a schedule or a profile as one HTML file with its timeline.
    #[command(
        after_help = "Examples:\n  ascsim report prof_dir\n  ascsim what-if prof_dir --apply graph:us=20 --json > result.json\n  ascsim report result.json -o result.html --lang zh"
    )]
    Report(Report),
    /// Write a predicted timeline in the format of another tool.
    #[command(
        after_help = "Examples:\n  ascsim export schedule.json --to perfetto -o step.pftrace\n  ascsim export prof_dir --to csv | head\n  ascsim export result.json --to svg -o step.svg"
    )]
    Export(Export),
    /// Print the JSON Schema of a file format.
    Schema {
        /// Which format.
        format: SchemaName,
    },
    /// Print a script that completes the command line in a shell.
    #[command(
        after_help = "Example:\n  ascsim completions bash > ~/.local/share/bash-completion/completions/ascsim"
    )]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

const WHAT_IF_HELP: &str = "\
Examples:
  ascsim what-if
  ascsim what-if prof_dir --apply scale:select=name=MatMul*,factor=0.8
  ascsim what-if prof_dir --apply move-to-stream:select=module=*shared*,stream=side,after=name=Cast,before=name=Add
  ascsim what-if schedule.json --apply graph:us=20 --json
  ascsim what-if schedule.json --hw a3-server --hw cann-9.0-vllm-ascend-0.23
  ascsim what-if schedule.json --ladder graph:us=20,shared-expert-overlap,drop-redundant-events
  ascsim what-if schedule.json --apply shared-expert-overlap --sweep eager.us=0..60 --given eager:us=0
  ascsim what-if schedule.json --plan plan.toml
  ascsim what-if --list";

const RUN_HELP: &str = "\
Examples:
  ascsim run schedule.json --certificate schedule.certificate
  ascsim run schedule.json --certificate schedule.certificate --backend emulator --steps 10
  ascsim run schedule.json --certificate schedule.certificate --backend emulator --trace recorded";

const HW_HELP: &str = "\
Examples:
  ascsim hw list
  ascsim hw show 910c-752t
  ascsim hw diff 910c-752t 910c-560t
  ascsim hw show ./my-chip.toml --json";

/// What `hw` does.
#[derive(Debug, Subcommand)]
pub(crate) enum Hw {
    /// List the profiles: chips, links, machines and software stacks.
    List {
        /// Print the list as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a profile: every number with its unit, range, confidence and source.
    Show {
        /// A profile's name, or a profile file.
        profile: String,
        /// Print the profile as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show how two profiles of a kind differ.
    Diff {
        /// A profile's name, or a profile file.
        a: String,
        /// Another one.
        b: String,
        /// Print the difference as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of `what-if`.
#[derive(Debug, Args)]
pub(crate) struct WhatIf {
    /// A profile directory, a schedule file, or - for a schedule on standard input; without it, a
    /// built-in example.
    pub path: Option<PathBuf>,
    /// A change, NAME[:key=value,...]; may be given several times, applied in order.
    #[arg(long, value_name = "CHANGE")]
    pub apply: Vec<String>,
    /// A change that holds before as well as after; may be given several times.
    #[arg(long, value_name = "CHANGE")]
    pub given: Vec<String>,
    /// A TOML file of changes: `given = [...]` and tables `[[change]]` with `name` and its keys.
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Apply changes one after another and show what each adds: CHANGE,CHANGE,...; without a value,
    /// those of --apply and --plan.
    #[arg(long, value_name = "CHANGES", num_args = 0..=1, default_missing_value = "", conflicts_with = "sweep")]
    pub ladder: Option<String>,
    /// Vary a key of a change: KEY=FROM..TO, KEY=FROM..TO:STEP or KEY=VALUE,VALUE,...; CHANGE.KEY
    /// names the change too. May be given twice.
    #[arg(long, value_name = "KEY=RANGE")]
    pub sweep: Vec<String>,
    /// Coarse samples for each swept key; 17 for one key and 9 for two without it.
    #[arg(long, value_name = "NUMBER", requires = "sweep", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub points: Option<u32>,
    /// Write the points of a sweep to this file as CSV, or - for standard output.
    #[arg(long, value_name = "FILE", requires = "sweep")]
    pub csv: Option<PathBuf>,
    /// List the changes there are.
    #[arg(long)]
    pub list: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Write the changed schedule to this file, or - for standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the predicted times of every op to this file.
    #[arg(long, value_name = "FILE")]
    pub prediction: Option<PathBuf>,
    /// Write a report with both timelines to this HTML file.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// The language of the report.
    #[arg(long, value_enum, default_value_t = Lang::En)]
    pub lang: Lang,
    /// Replace files that exist.
    #[arg(long)]
    pub force: bool,
    /// The machine, chip or software stack to simulate on: a profile's name (`ascsim hw list`) or a
    /// profile file. Kernels then share cores and bandwidth, and ops without a duration get one.
    #[arg(long, value_name = "PROFILE")]
    pub hw: Vec<String>,
    /// How kernels share the cores where --hw names no machine; exclusive without it.
    #[arg(long, value_enum, conflicts_with = "hw")]
    pub engines: Option<Engines>,
    /// Which step of a profile, by number; the last one without it.
    #[arg(long, value_name = "NUMBER")]
    pub step: Option<u32>,
    /// Samples for the ranges; 0 gives no range.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    pub samples: u64,
    /// Seed of the samples.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// How kernels share the cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engines {
    /// One kernel at a time on the cube cores, and one on the vector cores.
    Exclusive,
    /// No kernel ever waits for cores.
    Unlimited,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// A schedule file, - for a schedule on standard input, or a profile directory.
    #[arg(required_unless_present = "explain")]
    pub path: Option<PathBuf>,
    /// The hardware it is checked for: a machine or chip profile, or a profile file (.toml).
    #[arg(long, value_name = "NAME", default_value = "a3-server")]
    pub hw: String,
    /// How the report is written.
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    pub format: CheckFormat,
    /// The same as --format json.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Mend what can be mended, write the schedule to this file (or - for standard output), and report
    /// on it.
    #[arg(long, value_name = "FILE")]
    pub fix: Option<PathBuf>,
    /// Write the certificate that the executor asks for to this file, unless there are errors.
    #[arg(long, value_name = "FILE")]
    pub certify: Option<PathBuf>,
    /// Replace files that exist.
    #[arg(long)]
    pub force: bool,
    /// Say what a rule means, and check nothing.
    #[arg(long, value_name = "CODE", conflicts_with = "path")]
    pub explain: Option<String>,
    /// Which step of a profile, by number; the last one without it.
    #[arg(long, value_name = "NUMBER")]
    pub step: Option<u32>,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people.
    Text,
    /// For programs: `ascsim.check/1`.
    Json,
    /// For code hosts and editors: SARIF 2.1.0.
    Sarif,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The JSON of a what-if, a schedule file, a profile directory, or - for a result or schedule on
    /// standard input.
    pub path: PathBuf,
    /// Write the report to this file, or - for standard output.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// The language of the report.
    #[arg(long, value_enum, default_value_t = Lang::En)]
    pub lang: Lang,
    /// Replace a file that exists.
    #[arg(long)]
    pub force: bool,
    /// How kernels share the cores.
    #[arg(long, value_enum, default_value_t = Engines::Exclusive)]
    pub engines: Engines,
    /// Which step of a profile, by number; the last one without it.
    #[arg(long, value_name = "NUMBER")]
    pub step: Option<u32>,
    /// Samples for the range; 0 gives no range.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    pub samples: u64,
    /// Seed of the samples.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// The language of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lang {
    /// English.
    En,
    /// Chinese.
    Zh,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// A schedule file, a profile directory, the JSON of a what-if, or - for a schedule or result on
    /// standard input.
    pub path: PathBuf,
    /// The format.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: ExportFormat,
    /// Write to this file, or - for standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Only this rank.
    #[arg(long, value_name = "RANK")]
    pub rank: Option<u32>,
    /// Which side of a what-if result; a picture without it shows both.
    #[arg(long, value_enum)]
    pub side: Option<ResultSide>,
    /// Replace a file that exists.
    #[arg(long)]
    pub force: bool,
    /// How kernels share the cores.
    #[arg(long, value_enum, default_value_t = Engines::Exclusive)]
    pub engines: Engines,
    /// Which step of a profile, by number; the last one without it.
    #[arg(long, value_name = "NUMBER")]
    pub step: Option<u32>,
}

/// What a timeline is exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Chrome trace events: chrome://tracing, MindStudio Insight, and ascsim itself.
    Chrome,
    /// Perfetto's protobuf, with flow arrows: ui.perfetto.dev.
    Perfetto,
    /// A table, one row per task and call.
    Csv,
    /// The graph of the tasks for Graphviz.
    Dot,
    /// A picture.
    Svg,
}

/// A side of a what-if result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultSide {
    /// The schedule as it is.
    Before,
    /// The schedule with the changes.
    After,
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The profile: its directory, or a file in it.
    pub path: PathBuf,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `import`.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Profiles, one per rank.
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Which step, by number; the last one without it.
    #[arg(long, value_name = "NUMBER")]
    pub step: Option<u32>,
    /// Write the schedule to this file, or - for standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the compact binary form.
    #[arg(long)]
    pub binary: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
    /// Replace a file that exists.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Profiles, one per rank.
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Which step, by number; the last one without it.
    #[arg(long, value_name = "NUMBER")]
    pub step: Option<u32>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `anonymise`.
#[derive(Debug, Args)]
pub(crate) struct Anonymise {
    /// The profile: its directory, or a file in it; of several ranks, all are written.
    pub path: PathBuf,
    /// The directory to write; it must not exist.
    #[arg(short, long, value_name = "DIRECTORY")]
    pub output: PathBuf,
    /// The form to write; that of the profile without it.
    #[arg(long, value_enum)]
    pub form: Option<Form>,
    /// Drop the shapes of tensors, too.
    #[arg(long)]
    pub drop_shapes: bool,
    /// Print what was dropped as JSON.
    #[arg(long)]
    pub json: bool,
    /// Replace a directory that ascsim wrote.
    #[arg(long)]
    pub force: bool,
}

/// A form of profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// trace_view.json with its tables.
    Text,
    /// ascend_pytorch_profiler_RANK.db.
    Database,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A schedule file, or - for standard input.
    pub path: PathBuf,
    /// Print only the hashes, as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// A schedule file, or - for standard input.
    pub path: PathBuf,
    /// The certificate that admits it, as `ascsim check --certify` writes it.
    #[arg(long, value_name = "FILE")]
    pub certificate: PathBuf,
    /// What runs it.
    #[arg(long, value_enum, default_value_t = BackendName::Acl)]
    pub backend: BackendName,
    /// The library to open instead of the one that the backend looks for (acl: `ASCSIM_ACL_LIB`,
    /// then `libascendcl.so`, then `libacl_rt.so`; emulator: beside the program).
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
    /// How often to run it.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: u64,
    /// Capture each rank's ops once and replay them, instead of submitting them in each step.
    #[arg(long)]
    pub graph: bool,
    /// Write what was recorded of each rank as a profile below this folder, for `ascsim import`.
    #[arg(long, value_name = "FOLDER")]
    pub trace: Option<PathBuf>,
    /// How long the host waits for a stream, in ms.
    #[arg(long, value_name = "MS", default_value_t = 60_000, value_parser = clap::value_parser!(u32).range(1..=2_147_483_647))]
    pub timeout: u32,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Replace files that exist.
    #[arg(long)]
    pub force: bool,
}

/// What runs a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendName {
    /// The devices of this machine, through CANN.
    Acl,
    /// Devices as the certificate names them, emulated with an exact clock; kernels without a
    /// binding only take time. `ASCSIM_EMULATOR` changes the devices.
    Emulator,
    /// Nothing: everything is refused or accepted as by `acl`, and nothing is done.
    Null,
}

/// A file format with a published schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaName {
    /// A schedule.
    Schedule,
    /// The predicted times of a schedule's ops.
    Prediction,
}

/// Arguments of `gen`.
#[derive(Debug, Args)]
pub(crate) struct Gen {
    /// The model.
    #[arg(required_unless_present = "list")]
    pub model: Option<String>,
    /// List the models and stacks there are.
    #[arg(long)]
    pub list: bool,
    /// Tensor-parallel ranks.
    #[arg(long, default_value_t = 1, value_name = "RANKS")]
    pub tp: u32,
    /// Expert-parallel ranks: 1, or all ranks.
    #[arg(long, default_value_t = 1, value_name = "RANKS")]
    pub ep: u32,
    /// Data-parallel ranks; what --ep and --tp leave without it.
    #[arg(long, value_name = "RANKS")]
    pub dp: Option<u32>,
    /// Context-parallel ranks.
    #[arg(long, default_value_t = 1, value_name = "RANKS")]
    pub cp: u32,
    /// Requests per data-parallel rank.
    #[arg(long, default_value_t = 1, value_name = "REQUESTS")]
    pub batch: u32,
    /// Tokens of a request: in the cache (decode) or of the prompt (prefill).
    #[arg(long, default_value_t = 1024, value_name = "TOKENS")]
    pub context: u32,
    /// What the step does.
    #[arg(long, value_enum, default_value_t = Phase::Decode)]
    pub phase: Phase,
    /// Number format of the weights; the one the model is served in without it.
    #[arg(long, value_enum)]
    pub weights: Option<Weights>,
    /// Number format of the cache of keys and values.
    #[arg(long, value_enum, default_value_t = Cache::Bf16)]
    pub kv_cache: Cache,
    /// Speculative tokens per request.
    #[arg(long, default_value_t = 0, value_name = "TOKENS")]
    pub speculative: u32,
    /// Probability that one more speculative token is accepted.
    #[arg(long, default_value_t = 0.7, value_name = "PROBABILITY")]
    pub acceptance: f64,
    /// How ranks communicate; what the stack chooses without it.
    #[arg(long, value_enum)]
    pub comm: Option<Comm>,
    /// Who carries collectives out.
    #[arg(long, value_enum)]
    pub expansion: Option<ExpansionMode>,
    /// Which experts tokens choose: uniform, zipf:S, or file:PATH with one count per expert.
    #[arg(long, default_value = "uniform", value_name = "ROUTING")]
    pub routing: String,
    /// Run the shared expert on a stream of its own.
    #[arg(long)]
    pub overlap: bool,
    /// Preprocess MLA in one kernel.
    #[arg(long)]
    pub mlapo: bool,
    /// Compile kernels for static shapes.
    #[arg(long)]
    pub static_kernels: bool,
    /// Generation of the serving stack.
    #[arg(long, value_name = "NAME")]
    pub stack: Option<String>,
    /// Replay the model as a captured graph.
    #[arg(long, conflicts_with = "eager")]
    pub graph: bool,
    /// Issue every op one by one.
    #[arg(long)]
    pub eager: bool,
    /// Write the schedule to this file, or - for standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the compact binary form.
    #[arg(long)]
    pub binary: bool,
    /// Print the summary, or the list, as JSON.
    #[arg(long)]
    pub json: bool,
    /// Replace a file that exists.
    #[arg(long)]
    pub force: bool,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Phase {
    /// One token per request, or one and the speculative ones.
    Decode,
    /// The whole prompt of each request.
    Prefill,
}

/// Number format of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Weights {
    /// BF16.
    Bf16,
    /// INT8 weights and activations.
    W8a8,
    /// INT8 activations, INT4 weights of the routed experts.
    W4a8,
    /// BF16 activations, INT4 weights of the routed experts.
    W4a16,
}

/// Number format of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cache {
    /// BF16.
    Bf16,
    /// INT8.
    Int8,
}

/// How ranks communicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Comm {
    /// AllReduce after each half of a layer.
    AllReduce,
    /// ReduceScatter and AllGather.
    ReduceScatter,
    /// MoE dispatch and combine kernels.
    Mc2,
    /// Dispatch, experts and combine in one kernel.
    FusedMc2,
    /// AllToAllV.
    AllToAll,
}

/// Who carries collectives out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExpansionMode {
    /// A kernel on vector cores.
    Aiv,
    /// AICPU kernels.
    AiCpu,
}
