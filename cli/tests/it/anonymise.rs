//! `ascsim anonymise` end to end.

use std::fs;
use std::path::{Path, PathBuf};

use ascsim_tests::shared;
use serde_json::Value;

use super::{good, refused};

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn capture(name: &str) -> Option<PathBuf> {
    Some(shared()?.join("traces").join(name))
}

#[test]
fn an_anonymous_profile_replays_as_its_original() {
    for (name, form) in [
        ("ddp-910b-text/level1-rank0", None),
        ("ddp-910b-text/level1-rank0", Some("database")),
        ("ddp-910b-db/level2-rank0", None),
        ("tinymlp-910b3", Some("text")),
    ] {
        let Some(path) = capture(name) else { return };
        let folder = tempfile::tempdir().expect("a folder");
        let output = folder.path().join("shared");
        let mut arguments = vec![
            "anonymise",
            text(&path),
            "-o",
            text(&output),
            "--drop-shapes",
            "--json",
        ];
        arguments.extend(form.iter().flat_map(|form| ["--form", form]));
        let report: Value = serde_json::from_str(&good(&arguments)).expect("JSON");
        assert_eq!(report["captures"], 1, "{report:#}");
        assert!(report["dropped"]["shapes"].as_u64() > Some(0), "{report:#}");
        let replay = |path: &Path| -> Value {
            let out = good(&["replay", text(path), "--json"]);
            serde_json::from_str(&out).expect("JSON")
        };
        let (original, anonymous) = (replay(&path), replay(&output));
        for key in ["observed", "simulated", "starts", "classes", "path"] {
            assert_eq!(
                original["observed_delays"][key], anonymous["observed_delays"][key],
                "{name} {form:?}: {key}"
            );
        }
    }
}

#[test]
fn a_directory_is_replaced_only_when_told_and_only_our_own() {
    let Some(path) = capture("tinymlp-910b3") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("out");
    let arguments = ["anonymise", text(&path), "-o", text(&output)];
    let summary = good(&arguments);
    assert!(summary.contains("1 captures, 36 tasks"), "{summary}");
    let error = refused(&arguments, b"");
    assert!(error.contains("--force"), "{error}");
    let forced = [&arguments[..], &["--force"]].concat();
    good(&forced);
    let own = output.join("thesis.tex");
    fs::write(&own, "years").expect("it can be written");
    let error = refused(&forced, b"");
    assert!(error.contains("thesis.tex"), "{error}");
    assert!(own.exists());
    // Nothing but the directory itself was left.
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn what_cannot_be_written_leaves_nothing() {
    let Some(path) = capture("llm-train-910b-pp2dp2/rank0") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("out");
    let arguments = [
        "anonymise",
        text(&path),
        "-o",
        text(&output),
        "--form",
        "database",
    ];
    let error = refused(&arguments, b"");
    assert!(error.contains("as text"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

#[test]
fn ranks_are_written_together() {
    let Some(path) = capture("ddp-910b-text") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("out");
    good(&["anonymise", text(&path), "-o", text(&output)]);
    // Two of the three captures are of rank 0.
    for name in ["capture0", "capture1", "rank1"] {
        assert!(output.join(name).is_dir(), "{name}");
    }
}
