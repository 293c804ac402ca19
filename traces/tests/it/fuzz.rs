//! Damaged input: every reader gives a trace or an error, and never panics, hangs or grows without end.
//!
//! A part of each valid file is changed at random: bytes flipped, cut, doubled, moved, numbers and texts
//! replaced by extreme ones, lines swapped with those of other files. The short run is part of every test
//! run; for a long one:
//!
//! ```text
//! ASCSIM_FUZZ_SECONDS=600 cargo test -p ascsim-traces --test it fuzz -- --ignored --nocapture
//! ```

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ascsim_traces::dump::{Dump, DumpReport};
use ascsim_traces::inspect::InspectReport;
use ascsim_traces::model::Lane;
use ascsim_traces::pair::Links;
use ascsim_traces::read_all;
use ascsim_traces::recover::{Settings, recover};
use ascsim_traces::write::{Form, write};

use crate::random::{Random, trace};
use crate::synth::Profile;

/// A reader: the file that is damaged, and the folder of valid files that it lies in.
struct Target {
    name: &'static str,
    run: tempfile::TempDir,
    file: PathBuf,
    valid: Vec<u8>,
}

/// Things that parsers trip over.
const TOKENS: [&[u8]; 24] = [
    b"-1",
    b"0",
    b"4294967295",
    b"4294967296",
    b"18446744073709551615",
    b"18446744073709551616",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"1e400",
    b"NaN",
    b"null",
    b"true",
    b"\"\"",
    b"{}",
    b"[]",
    b"[[[[[[[[",
    b"\\ud800",
    b"\xff\xfe",
    b"\"\"\"",
    b",,",
    b"\n",
    b"N/A",
    b"EVENT_WAIT_SQE",
    b"Plane 99999999999",
];

fn target(name: &'static str, fill: impl Fn(&Path), file: &str) -> Target {
    let run = tempfile::tempdir().unwrap();
    fill(run.path());
    let file = run.path().join(file);
    let valid = fs::read(&file).unwrap();
    Target {
        name,
        run,
        file,
        valid,
    }
}

fn targets() -> Vec<Target> {
    let random = |form| move |folder: &Path| write(&trace(11, 30, form), folder, form).unwrap();
    let text = random(Form::Text);
    let database = random(Form::Database);
    let rich = |folder: &Path| Profile::rich().write(folder);
    let tables = |folder: &Path| {
        let mut alone = trace(5, 20, Form::Text);
        let lacks = ascsim_traces::model::Missing {
            lane: Lane::Timeline,
            forbids: "",
            remedy: "",
        };
        alone.missing.push(lacks);
        write(&alone, folder, Form::Text).unwrap();
    };
    let mindspore = |folder: &Path| {
        let mut own = trace(7, 20, Form::Text);
        "MindSpore timelines".clone_into(&mut own.meta.source);
        write(&own, folder, Form::Text).unwrap();
    };
    let dump = |folder: &Path| {
        let text = r#"[{"name":"EVENT_RECORD_5","pid":"1 aclGraph","tid":"stream1","ts":0,"dur":9.5,"ph":"X","args":{"Model Id":1,"Stream Id":1,"Task Id":0}},
{"name":"EVENT_WAIT_5","pid":"1 aclGraph","tid":"stream2","ts":0,"dur":9.5,"ph":"X","args":{"Model Id":1,"Stream Id":2,"Task Id":3}}]"#;
        fs::write(folder.join("graph_debug.json"), text).unwrap();
    };
    let output = |name: &str| format!("ASCEND_PROFILER_OUTPUT/{name}");
    let info = |folder: &Path| {
        rich(folder);
        fs::write(
            folder.join("profiler_metadata.json"),
            r#"{"ENV_VARIABLES":{"A":"1"}}"#,
        )
        .unwrap();
    };
    vec![
        target("trace_view", rich, &output("trace_view.json")),
        target("trace_view, written", text, &output("trace_view.json")),
        target("kernel_details", rich, &output("kernel_details.csv")),
        target("communication", text, &output("communication.json")),
        target("step_trace", text, &output("step_trace_time.csv")),
        target("profiler_info", info, "profiler_info_0.json"),
        target("profiler_metadata", info, "profiler_metadata.json"),
        target("tables alone", tables, &output("kernel_details.csv")),
        target("task_time", tables, &output("task_time_1.csv")),
        target("mindspore", mindspore, "msprof_0_1_1.json"),
        target("dump", dump, "graph_debug.json"),
        target("database", database, &database_name(database)),
        target("analysis", database, "analysis.db"),
    ]
}

/// The name of the database that `fill` writes.
fn database_name(fill: impl Fn(&Path)) -> String {
    let run = tempfile::tempdir().unwrap();
    fill(run.path());
    let entries = fs::read_dir(run.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names = names.filter(|name| name.starts_with("ascend_pytorch_profiler"));
    names.next().unwrap()
}

fn damaged(valid: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    for _ in 0..1 + random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len() as u64) as usize;
        let length = (random.below(40) as usize).min(bytes.len() - at);
        match random.below(9) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            2 => {
                bytes.drain(at..at + length);
            }
            3 => {
                let part = bytes[at..at + length].to_vec();
                let to = random.below(bytes.len() as u64) as usize;
                bytes.splice(to..to, part);
            }
            4 => bytes[at] = random.below(256) as u8,
            // A whole value: from here to where it ends.
            5..=7 => {
                let is_end = |byte: &u8| b",:}]\"\n\t ".contains(byte);
                let begin = bytes[..at].iter().rposition(is_end).map_or(0, |p| p + 1);
                let end = bytes[at..]
                    .iter()
                    .position(is_end)
                    .map_or(bytes.len(), |p| at + p);
                let token = TOKENS[random.below(TOKENS.len() as u64) as usize];
                bytes.splice(begin.min(end)..end, token.iter().copied());
            }
            _ => {
                let token = TOKENS[random.below(TOKENS.len() as u64) as usize];
                bytes.splice(at..at, token.iter().copied());
            }
        }
    }
    bytes
}

/// Reads what is there, and does with it what commands do.
fn read_and_use(target: &Target) {
    if let Ok(traces) = read_all(target.run.path()) {
        for trace in &traces {
            let report = InspectReport::of("x", trace, &Links::of(trace));
            assert!(!report.to_string().is_empty());
            let _ = recover(&[trace], Settings::default());
        }
    }
    if target.name == "dump"
        && let Ok(dump) = Dump::read(&target.file)
    {
        assert!(!DumpReport::of("x", &dump).to_string().is_empty());
    }
}

/// Damages each file for `each`, or `cases` times; returns how often in all.
fn fuzz(each: Option<Duration>, cases: u64) -> u64 {
    let mut all = 0;
    for target in targets() {
        read_and_use(&target);
        let begun = Instant::now();
        let mut seed = 0;
        let goes_on = |seed: u64| match each {
            Some(each) => begun.elapsed() < each,
            None => seed < cases,
        };
        while goes_on(seed) {
            let bytes = damaged(&target.valid, &mut Random(seed));
            fs::write(&target.file, &bytes).unwrap();
            let result = catch_unwind(AssertUnwindSafe(|| read_and_use(&target)));
            if result.is_err() {
                let kept = std::env::temp_dir().join(format!("ascsim-fuzz-{seed}"));
                fs::write(&kept, &bytes).unwrap();
                panic!("{}: seed {seed}, see {}", target.name, kept.display());
            }
            seed += 1;
        }
        println!("{}: {seed} cases", target.name);
        all += seed;
    }
    all
}

#[test]
fn damaged_files_are_read_or_refused() {
    assert!(fuzz(None, 150) > 1_000);
}

#[test]
#[ignore = "runs for as long as ASCSIM_FUZZ_SECONDS says, for each of 13 files"]
fn fuzz_for_long() {
    let seconds = std::env::var("ASCSIM_FUZZ_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(60);
    println!("{} cases", fuzz(Some(Duration::from_secs(seconds)), 0));
}
