//! `ascsim run` on the emulator and on nothing.

use std::fs;
use std::path::{Path, PathBuf};

use ascsim_schedules::format;
use ascsim_schedules::hash::structure_hash;
use serde_json::{Value, json};

use super::{ascsim, good, refused, run, workspace};

const EXAMPLE: &str = "schedules/library/moe-layer-serial.json";

/// A certificate without findings for the schedule in a file, changed by `change`.
fn certify(schedule: &Path, folder: &Path, change: impl FnOnce(&mut Value)) -> PathBuf {
    let bytes = fs::read(schedule).expect("the schedule is there");
    let schedule: ascsim_schedules::Schedule = format::read(&bytes).expect("it is a schedule");
    let limits = ascsim_schedules::Limits::default();
    let mut certificate = json!({
        "format": "ascsim.certificate/1",
        "structure": structure_hash(&schedule).to_string(),
        "checker": "test",
        "profile": "test",
        "device_class": "Ascend910_93",
        "limits": serde_json::to_value(limits).expect("limits are numbers"),
    });
    change(&mut certificate);
    let path = folder.join("certificate.json");
    fs::write(&path, certificate.to_string()).expect("it can be written");
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_certified_schedule_runs_on_the_emulator_for_as_long_as_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let certificate = certify(&workspace().join(EXAMPLE), folder.path(), |_| {});
    for mode in [&[][..], &["--graph"]] {
        let arguments = [
            &[
                "run",
                EXAMPLE,
                "--certificate",
                text(&certificate),
                "--backend",
                "emulator",
                "--steps",
                "3",
                "--json",
            ],
            mode,
        ]
        .concat();
        let report: Value = serde_json::from_str(&good(&arguments)).expect("JSON");
        assert_eq!(report["format"], "ascsim.run/1");
        // The sum of the durations: all are on one stream.
        let times = json!({"least": 604_000, "mean": 604_000, "most": 604_000});
        assert_eq!(report["step_ns"], times, "{report}");
        assert_eq!(
            (&report["steps"], &report["clock"]),
            (&json!(3), &json!("emulator"))
        );
    }
}

#[test]
fn what_was_recorded_is_a_profile_that_import_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let certificate = certify(&workspace().join(EXAMPLE), folder.path(), |_| {});
    let trace = folder.path().join("recorded");
    let arguments = [
        "run",
        EXAMPLE,
        "--certificate",
        text(&certificate),
        "--backend",
        "emulator",
        "--steps",
        "2",
        "--trace",
        text(&trace),
    ];
    good(&arguments);
    let schedule = folder.path().join("imported.json");
    good(&["import", text(&trace), "-o", text(&schedule)]);
    let imported: ascsim_schedules::Schedule =
        format::read(&fs::read(&schedule).expect("it was written")).expect("valid");
    let kernels = imported.programs[0]
        .ops
        .iter()
        .filter(|op| matches!(op.kind, ascsim_schedules::OpKind::Kernel(_)));
    assert_eq!(kernels.count(), 12);
    let shown = good(&["what-if", text(&schedule), "--samples", "0"]);
    assert!(shown.starts_with("the step takes 604.0 µs"), "{shown}");
    // A second run does not replace what the first one recorded.
    let error = refused(&arguments, b"");
    assert!(error.contains("--force"), "{error}");
    good(&[&arguments[..], &["--force"]].concat());
}

#[test]
fn nothing_but_what_was_certified_is_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = workspace().join(EXAMPLE);
    for backend in ["emulator", "null"] {
        let says = |change: &dyn Fn(&mut Value), part: &str| {
            let certificate = certify(&example, folder.path(), change);
            let certificate = text(&certificate);
            let error = refused(
                &[
                    "run",
                    EXAMPLE,
                    "--certificate",
                    certificate,
                    "--backend",
                    backend,
                ],
                b"",
            );
            assert!(error.contains(part), "{error}");
        };
        says(&|it| it["structure"] = json!("ab"), "check it again");
        says(
            &|it| {
                it["findings"] = json!([{"severity": "error", "rule": "race", "message": "on x"}])
            },
            "by rule race: on x",
        );
        says(
            &|it| it["format"] = json!("ascsim.certificate/2"),
            "certificate/2",
        );
        says(
            &|it| it["limits"]["streams"] = json!("many"),
            "certificate.json",
        );
    }
    let certificate = certify(&example, folder.path(), |_| {});
    let output = ascsim()
        .args(["run", EXAMPLE, "--certificate", text(&certificate)])
        .args(["--backend", "emulator"])
        .env("ASCSIM_EMULATOR", "clock=virtual,soc=Ascend910B4")
        .output()
        .expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("this device is Ascend910B4"), "{error}");
}

#[test]
fn a_step_that_fails_names_the_op_and_ends_with_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let certificate = certify(&workspace().join(EXAMPLE), folder.path(), |_| {});
    let output = ascsim()
        .args(["run", EXAMPLE, "--certificate", text(&certificate)])
        .args(["--backend", "emulator"])
        .env(
            "ASCSIM_EMULATOR",
            "clock=virtual,fail=ascsimEmulatorLaunch:3:507899",
        )
        .output()
        .expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("router_topk") && error.contains("507899"),
        "{error}"
    );
}

#[test]
fn without_cann_the_answer_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let certificate = certify(&workspace().join(EXAMPLE), folder.path(), |_| {});
    let certificate = text(&certificate);
    let nowhere = folder.path().join("libnothing.so");
    let arguments = [
        "run",
        EXAMPLE,
        "--certificate",
        certificate,
        "--library",
        text(&nowhere),
    ];
    let error = refused(&arguments, b"");
    assert!(error.contains("ASCSIM_ACL_LIB"), "{error}");
    // On nothing, it runs anywhere.
    let arguments = [
        "run",
        EXAMPLE,
        "--certificate",
        certificate,
        "--backend",
        "null",
    ];
    let (code, out, error) = run(&arguments, b"");
    assert_eq!(code, 0, "{error}");
    assert!(
        out.starts_with("ran 1 step of moe-layer-serial on null, eager"),
        "{out}"
    );
}
