//! Files in and out: whole or not at all, by path and by pipe.

use std::fs;
use std::io::Read;
use std::process::{Command as Process, Stdio};

use super::{good, refused, run, workspace};

const EXAMPLE: &str = "schedules/library/moe-layer-serial.json";

#[test]
fn a_named_pipe_is_read_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo is on every Unix").success());
    let writer = {
        let pipe = pipe.clone();
        std::thread::spawn(move || {
            let example = fs::read(workspace().join(EXAMPLE)).expect("it is part of the project");
            fs::write(pipe, example).expect("somebody reads it");
        })
    };
    let path = pipe.to_str().expect("UTF-8");
    let (code, out, error) = run(&["what-if", path, "--samples", "0"], b"");
    assert_eq!(code, 0, "{error}");
    assert!(out.starts_with("the step takes 604.0 µs"), "{out}");
    writer.join().expect("it was written");
}

#[test]
fn a_schedule_goes_through_a_pipe() {
    let example = fs::read(workspace().join(EXAMPLE)).expect("it is part of the project");
    let change = [
        "what-if",
        "-",
        "--apply",
        "scale:select=id=expert_up,factor=2",
        "-o",
        "-",
    ];
    let (code, changed, error) = run(&change, &example);
    assert_eq!(code, 0, "{error}");
    assert!(
        changed.starts_with("{\n  \"format\": \"ascsim.schedule/1\""),
        "{changed}"
    );
    let (code, shown, error) = run(&["what-if", "-", "--samples", "0"], changed.as_bytes());
    assert_eq!(code, 0, "{error}");
    assert!(shown.starts_with("the step takes 837.0 µs"), "{shown}");
}

#[test]
fn files_are_never_replaced_unless_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.json");
    let name = path.to_str().expect("UTF-8");
    fs::write(&path, "mine").expect("it can be written");
    let error = refused(&["what-if", "-o", name], b"");
    assert!(error.contains("--force"), "{error}");
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "mine");
    good(&["what-if", "-o", name, "--force"]);
    assert!(
        fs::read_to_string(&path)
            .expect("it is there")
            .starts_with('{')
    );
}

#[test]
fn a_refusal_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.json");
    let name = path.to_str().expect("UTF-8");
    refused(
        &[
            "what-if",
            "-o",
            name,
            "--apply",
            "scale:select=id=zzz,factor=2",
        ],
        b"",
    );
    refused(
        &["what-if", "-", "-o", name],
        b"{\"format\": \"ascsim.schedule/1\", ",
    );
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

#[test]
fn malformed_schedules_are_refused_with_the_place() {
    let says = |input: &[u8], part: &str| {
        let error = refused(&["what-if", "-"], input);
        assert!(error.contains(part), "{part}: {error}");
    };
    says(b"", "empty");
    says(b"{\"format\": \"ascsim.schedule/2\"}", "ascsim.schedule/2");
    says(
        b"{\"format\": \"ascsim.schedule/1\", \"name\": \"a\", \"name\": \"b\"}",
        "byte",
    );
    says(
        b"{\"format\": \"ascsim.schedule/1\", \"name\": \"\xff\"}",
        "byte",
    );
    says(
        b"{\"format\": \"ascsim.schedule/1\", \"name\": 18446744073709551616}",
        "byte",
    );
    says(
        b"{\"format\": \"ascsim.schedule/1\", \"name\": \"a\"",
        "byte",
    );
}

#[test]
fn a_negative_duration_is_refused() {
    let example = fs::read_to_string(workspace().join(EXAMPLE)).expect("it is part of the project");
    let wrong = example.replacen("\"ns\": 233000", "\"ns\": -233000", 1);
    assert_ne!(wrong, example);
    let error = refused(&["what-if", "-"], wrong.as_bytes());
    assert!(
        error.contains("expert_up") && error.contains("-233000"),
        "{error}"
    );
}

#[test]
fn the_prediction_names_every_op() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("prediction.json");
    good(&[
        "what-if",
        EXAMPLE,
        "--prediction",
        path.to_str().expect("UTF-8"),
    ]);
    let text = fs::read_to_string(&path).expect("it was written");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["format"], "ascsim.prediction/1");
    assert_eq!(value["makespan"]["ns"], 604_000);
    assert_eq!(value["ops"].as_array().map(Vec::len), Some(12));
    let shown: serde_json::Value =
        serde_json::from_str(&good(&["show", EXAMPLE, "--json"])).expect("JSON");
    assert_eq!(value["structure"], shown["structure"]);
    assert_eq!(value["content"], shown["content"]);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Process::new(assert_cmd::cargo::cargo_bin("ascsim"))
        .args(["what-if", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // Closed before anything is read.
    drop(child.stdout.take());
    let mut error = String::new();
    child
        .stderr
        .take()
        .expect("piped")
        .read_to_string(&mut error)
        .expect("UTF-8");
    let status = child.wait().expect("it ends");
    assert!(status.success() && error.is_empty(), "{status}: {error}");
}

#[test]
fn schemas_and_completions_are_printed() {
    for format in ["schedule", "prediction"] {
        let schema: serde_json::Value =
            serde_json::from_str(&good(&["schema", format])).expect("JSON");
        assert!(schema["properties"]["format"].is_object(), "{format}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(good(&["completions", shell]).contains("what-if"), "{shell}");
    }
    assert!(good(&["--version"]).starts_with("ascsim "));
    for verb in ["what-if", "check", "inspect", "import", "replay"] {
        assert!(good(&[verb, "--help"]).contains("Examples:"), "{verb}");
    }
}
