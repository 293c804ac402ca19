//! `ascsim check`: exit codes, formats, and what it says.

use std::fs;

use super::{good, refused, run, workspace};

const OVERLAP: &str = "schedules/library/moe-layer-overlap.json";

/// Two streams that touch one buffer, with an event between them or without.
fn two_streams(ordered: bool) -> String {
    let event = |text: &'static str| if ordered { text } else { "" };
    format!(
        r#"{{"format": "ascsim.schedule/1", "name": "two-streams",
        "buffers": [{{"name": "x", "bytes": 1024}}],
        "streams": [{{"name": "main"}}, {{"name": "side"}}],
        "events": [{{"name": "ready"}}],
        "programs": [{{"name": "step", "ops": [
          {{"id": "make", "stream": "main", "kind": {{"kernel": {{"name": "Cast"}}}},
            "accesses": [{{"buffer": "x", "mode": "write"}}]}},
          {}{}
          {{"id": "use", "stream": "side", "kind": {{"kernel": {{"name": "Add"}}}},
            "accesses": [{{"buffer": "x", "mode": "read"}}]}},
          {{"id": "more", "stream": "main", "kind": {{"kernel": {{"name": "Add"}}}}, "accesses": []}}]}}],
        "ranks": [{{"first": 0, "count": 1, "program": "step"}}]}}"#,
        event(r#"{"id": "r", "stream": "main", "kind": {"record": {"event": "ready"}}},"#),
        event(r#"{"id": "w", "stream": "side", "kind": {"wait": {"event": "ready"}}},"#),
    )
}

#[test]
fn a_clean_schedule_ends_with_0() {
    let out = good(&["check", OVERLAP]);
    assert!(out.starts_with("clean: 0 errors"), "{out}");
    let (code, out, _) = run(&["check", "-"], two_streams(true).as_bytes());
    assert_eq!((code, out.starts_with("clean: ")), (0, true), "{out}");
}

#[test]
fn a_race_ends_with_1_and_names_ops_and_bytes() {
    let (code, out, error) = run(&["check", "-"], two_streams(false).as_bytes());
    assert_eq!((code, error.as_str()), (1, ""));
    let expected = "error[race-access]: `make` writes and `use` reads bytes 0 to 1024 of `x`, and nothing orders them
  at `make` on stream `main` of rank 0
  at `use` on stream `side` of rank 0
  help: record an event after `make` and wait for it before `use`

not to be run: 1 errors, 0 warnings, 0 notes, races found; 3 op instances checked for a3-server
";
    assert_eq!(out, expected);
    let (code, out, _) = run(&["check", "-", "--json"], two_streams(false).as_bytes());
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(code, 1);
    assert_eq!(report["format"], "ascsim.check/1");
    assert_eq!(report["races"], "found");
    assert_eq!(report["findings"][0]["rule"], "race-access");
    assert_eq!(report["findings"][0]["witness"]["bytes"]["bytes"][1], 1024);
}

#[test]
fn bad_input_ends_with_2() {
    refused(&["check", "/nowhere"], b"");
    refused(&["check", "-"], b"{\"format\": \"ascsim.schedule/1\", ");
    let error = refused(&["check", OVERLAP, "--hw", "910z"], b"");
    assert!(error.contains("a3-server"), "{error}");
    let error = refused(&["check", "--explain", "nothing"], b"");
    assert!(error.contains("race-access"), "{error}");
    refused(&["check", OVERLAP, "--step", "1"], b"");
}

#[test]
fn rules_explain_themselves() {
    let text = good(&["check", "--explain", "deadlock-cycle"]);
    assert!(text.contains("1,091 s"), "{text}");
}

#[test]
fn the_device_decides_the_limits() {
    for hw in ["910c-752t", "cloudmatrix384"] {
        let out = good(&["check", OVERLAP, "--hw", hw]);
        assert!(out.contains(&format!("checked for {hw}")), "{out}");
    }
    // Its dispatch is made for all cores of a full die.
    let (code, out, _) = run(&["check", OVERLAP, "--hw", "910c-560t"], b"");
    assert_eq!(code, 1, "{out}");
    assert!(
        out.contains("needs 48 aiv cores at once, and the die has 40"),
        "{out}"
    );
}

#[test]
fn sarif_names_rules_and_places() {
    let (code, out, _) = run(
        &["check", "-", "--format", "sarif"],
        two_streams(false).as_bytes(),
    );
    let log: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &log["version"]), (1, &"2.1.0".into()));
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "race-access");
    let result = &run["results"][0];
    assert_eq!(result["ruleId"], "race-access");
    assert_eq!(result["level"], "error");
    let place = &result["locations"][0];
    assert_eq!(place["physicalLocation"]["artifactLocation"]["uri"], "-");
    assert_eq!(
        place["logicalLocations"][0]["fullyQualifiedName"],
        "rank 0/make"
    );
    let (_, out, _) = run_clean_sarif();
    let log: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(0));
}

fn run_clean_sarif() -> (i32, String, String) {
    run(
        &["check", "-", "--format", "sarif"],
        two_streams(true).as_bytes(),
    )
}

#[test]
fn a_mended_schedule_is_written_and_clean() {
    let (code, mended, error) = run(&["check", "-", "--fix", "-"], two_streams(false).as_bytes());
    assert_eq!(code, 0, "{error}");
    let (code, out, _) = run(&["check", "-"], mended.as_bytes());
    assert!(
        code == 0 && out.starts_with("clean: 0 errors, 0 warnings"),
        "{out}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mended.json");
    let path = path.to_str().expect("UTF-8");
    let (code, out, _) = run(
        &["check", "-", "--fix", path],
        two_streams(false).as_bytes(),
    );
    assert_eq!(code, 0, "{out}");
    assert!(
        out.starts_with("fixed[race-access]: `make` writes"),
        "{out}"
    );
    let error = refused(&["check", OVERLAP, "--fix", path], b"");
    assert!(error.contains("--force"), "{error}");
}

#[test]
fn the_executor_admits_what_is_certified_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("certificate.json");
    let name = path.to_str().expect("UTF-8");
    let (code, out, error) = run(
        &["check", "-", "--certify", name],
        two_streams(false).as_bytes(),
    );
    assert_eq!(code, 1, "{out}");
    assert!(
        error.contains("no certificate") && !path.exists(),
        "{error}"
    );
    good(&["check", OVERLAP, "--certify", name]);
    let text = fs::read_to_string(&path).expect("it was written");
    let certificate: ascsim_schedules::Certificate = serde_json::from_str(&text).expect("one");
    let bytes = fs::read(workspace().join(OVERLAP)).expect("it is there");
    let mut schedule: ascsim_schedules::Schedule =
        ascsim_schedules::format::read(&bytes).expect("a schedule");
    assert_eq!(certificate.profile, "a3-server");
    assert_eq!(certificate.device_class, "Ascend910_93");
    ascsim_exec::Checked::new(&schedule, &certificate).expect("it was checked");
    schedule.programs[0].ops.remove(3);
    assert!(ascsim_exec::Checked::new(&schedule, &certificate).is_err());
}
