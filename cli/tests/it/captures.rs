//! Real captures through the binary.

use std::path::PathBuf;

use ascsim_tests::shared;
use serde_json::Value;

use super::{good, refused, run};

/// T1 and T7 of facts/traces.md.
const CAPTURES: [&str; 2] = ["ddp-910b-text/level1-rank0", "tinymlp-910b3"];

fn captures() -> Vec<String> {
    let Some(shared) = shared() else {
        return Vec::new();
    };
    let path = |name: &&str| shared.join("traces").join(name);
    let text = |path: PathBuf| path.to_str().expect("UTF-8").to_owned();
    CAPTURES.iter().map(path).map(text).collect()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&good(arguments)).expect("the output is JSON")
}

#[test]
fn each_first_change_is_answered_with_its_assumptions() {
    for path in captures() {
        let events = path.contains("ddp");
        let mut changes = vec![
            "scale:select=kind=kernel,factor=0.5",
            "set-duration:select=kind=kernel,us=1",
            "remove:select=kind=kernel name=*Mul*",
            if events {
                "move-to-stream:select=name=*Mul*,stream=side,after=kind=kernel|copy,before=kind=kernel|copy|wait"
            } else {
                "move-to-stream:select=name=Gelu,stream=side,after=name=MatMul*,before=name=MatMul*"
            },
            "eager:us=5",
        ];
        changes.push("graph:us=20");
        if events {
            changes.extend([
                "drop-wait:select=kind=wait",
                "drop-record:select=kind=record",
                "move-wait:select=kind=wait event=event.279,before=kind=kernel",
                "move-record:select=kind=record event=event.218,after=name=*Mul*",
            ]);
        }
        for change in changes {
            let arguments = [
                "what-if",
                &path,
                "--apply",
                change,
                "--json",
                "--samples",
                "20",
            ];
            let (code, out, error) = run(&arguments, b"");
            assert_eq!(code, 0, "{path} {change}: {error}");
            let result: Value = serde_json::from_str(&out).expect("JSON");
            assert_eq!(result["source"]["kind"], "profile");
            let notes = result["notes"].as_array().expect("a list");
            let assumed = notes
                .iter()
                .filter(|note| note["kind"] == "assumption")
                .count();
            assert!(assumed >= 2, "{path} {change}: {notes:?}");
            let answers = result["answers"].as_array().expect("a list");
            // The DDP capture is perturbed: it is answered with and without.
            assert_eq!(answers.len(), if events { 2 } else { 1 }, "{path}");
            for answer in answers {
                assert!(
                    answer["difference"]["ns"].is_i64(),
                    "{path} {change}: {answer:#}"
                );
            }
        }
    }
}

#[test]
fn a_move_without_join_points_is_refused_with_a_hint() {
    for path in captures() {
        let change = "move-to-stream:select=name=*Mul*,stream=side";
        let error = refused(&["what-if", &path, "--apply", change], b"");
        assert!(error.contains("after=SELECTOR,before=SELECTOR"), "{error}");
    }
}

#[test]
fn an_unchanged_capture_takes_as_long_as_recorded() {
    for path in captures() {
        let result = json(&["replay", &path, "--json"]);
        let observed = &result["observed_delays"];
        let of = |key: &str| observed[key].as_f64().expect("a number");
        let error = (of("simulated") - of("observed")).abs() / of("observed");
        assert!(error < 0.001, "{path}: {error}");
        let p99 = observed["starts"]["p99"].as_u64().expect("a number");
        assert!(p99 <= 1_000_000, "{path}: {p99} ps");
    }
}

#[test]
fn an_import_is_a_schedule_that_what_if_takes() {
    for path in captures() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("schedule.json");
        let file = file.to_str().expect("UTF-8");
        let summary = json(&["import", &path, "-o", file, "--json"]);
        assert!(
            summary["links"]["task to call"]["paired"].as_u64() > Some(0),
            "{summary:#}"
        );
        let result = json(&["what-if", file, "--json", "--samples", "0"]);
        assert_eq!(result["source"]["kind"], "schedule");
        let (code, schedule, error) = run(&["import", &path, "-o", "-"], b"");
        assert_eq!(code, 0, "{error}");
        assert_eq!(
            schedule,
            std::fs::read_to_string(file).expect("it was written")
        );
        assert!(error.contains("captured"), "{error}");
    }
}

/// facts/traces.md section 1, G1 and T12.
#[test]
fn a_dump_alone_is_summed_up_and_a_capture_without_tasks_refused() {
    let Some(shared) = shared() else { return };
    let traces = shared.join("traces");
    let dump = traces.join("aclgraph-debug/graph_debug.json");
    let dump = dump.to_str().expect("UTF-8");
    let text = good(&["inspect", dump]);
    assert!(
        text.contains("6 pairs") && text.contains("114 are left out"),
        "{text}"
    );
    let report = json(&["inspect", dump, "--json"]);
    assert_eq!(report["format"], "ascsim.graph-dump/1");
    assert_eq!(report["pairs"].as_array().map(Vec::len), Some(6));
    let error = refused(&["replay", dump], b"");
    assert!(error.contains("inspect"), "{error}");
    let empty = traces.join("torchair-eager-910b/npugraph_ex_prof.json");
    let error = refused(&["inspect", empty.to_str().expect("UTF-8")], b"");
    assert!(error.contains("no device task"), "{error}");
}

#[test]
fn what_is_no_profile_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8").to_owned();
    for verb in ["inspect", "import", "replay", "what-if"] {
        let error = refused(&[verb, &path], b"");
        assert!(error.contains(&path), "{verb}: {error}");
        let error = refused(&[verb, "/nowhere"], b"");
        assert!(error.contains("/nowhere"), "{verb}: {error}");
    }
    for (name, content) in [
        ("trace_view.json", &b"[{\"ph\": \"X\", \"ts\": "[..]),
        ("kernel_details.csv", b""),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(name);
        std::fs::write(&file, content).expect("it can be written");
        let error = refused(&["inspect", file.to_str().expect("UTF-8")], b"");
        assert!(error.contains(name), "{error}");
    }
}
