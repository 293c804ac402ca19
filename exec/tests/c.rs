//! The C interface: its header is current, and the example in C compiles, runs and is refused where it
//! must be.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ascsim_schedules::hash::structure_hash;
use ascsim_schedules::{Certificate, Limits, Schedule, format};
use expect_test::expect_file;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_header_is_current() {
    let config = Path::new(HERE).join("cbindgen.toml");
    let config = cbindgen::Config::from_file(config).expect("settings");
    let header = cbindgen::Builder::new()
        .with_config(config)
        .with_src(Path::new(HERE).join("src/ffi/mod.rs"))
        .with_src(Path::new(HERE).join("src/ffi/program.rs"))
        .generate()
        .expect("the interface is C");
    let mut text = Vec::new();
    header.write(&mut text);
    let text = String::from_utf8(text).expect("it is text");
    expect_file!["../include/ascsim_exec.h"].assert_eq(&text);
}

/// Folder of the shared library, which cargo builds with the tests.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a path");
    let deps = test.parent().expect("a file is in a folder");
    let beside = |folder: &Path| folder.join("libascsim_exec.so").is_file();
    let found = [Some(deps), deps.parent()].into_iter().flatten();
    let found = found.into_iter().find(|folder| beside(folder));
    found.expect("cargo built the library").to_path_buf()
}

fn built(folder: &Path) -> PathBuf {
    let program = folder.join("run");
    let output = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o"])
        .arg(&program)
        .arg(Path::new(HERE).join("examples/run.c"))
        .arg(format!("-I{HERE}/include"))
        .arg(format!("-L{}", libraries().display()))
        .arg(format!("-Wl,-rpath,{}", libraries().display()))
        .arg("-lascsim_exec")
        .output()
        .expect("there is a C compiler");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

fn schedule() -> Schedule {
    let text = r#"{
        "format": "ascsim.schedule/1", "name": "two kernels",
        "streams": [{"name": "main"}, {"name": "side"}], "events": [{"name": "fork"}],
        "programs": [{"name": "step", "ops": [
            {"id": "mine", "stream": "main", "kind": {"kernel": {"name": "Mine"}},
             "launch": {"callback": {"name": "mine"}}},
            {"id": "fork", "stream": "main", "kind": {"record": {"event": "fork"}}},
            {"id": "wait", "stream": "side", "kind": {"wait": {"event": "fork"}}},
            {"id": "other", "stream": "side", "kind": {"kernel": {"name": "Other"}},
             "duration": {"ns": 5000, "from": "stated"}}]}],
        "ranks": [{"first": 0, "count": 1, "program": "step"}]
    }"#;
    format::read(text.as_bytes()).expect("a schedule")
}

fn write(folder: &Path, structure: &str) -> [PathBuf; 2] {
    let schedule = schedule();
    let certificate = Certificate {
        format: Certificate::FORMAT.into(),
        structure: structure.to_owned(),
        checker: "test".into(),
        profile: "test".into(),
        device_class: "Ascend910_93".into(),
        limits: Limits::default(),
        findings: Vec::new(),
        extra: Default::default(),
    };
    let paths = ["schedule.json", "certificate.json"].map(|name| folder.join(name));
    fs::write(&paths[0], serde_json::to_string(&schedule).expect("JSON")).expect("written");
    fs::write(
        &paths[1],
        serde_json::to_string(&certificate).expect("JSON"),
    )
    .expect("written");
    paths
}

fn run(program: &Path, files: &[PathBuf; 2], library: &Path) -> Output {
    Command::new(program)
        .args(files)
        .arg(library)
        .env("ASCSIM_EMULATOR", "clock=virtual")
        .output()
        .expect("it starts")
}

#[test]
fn the_example_in_c_runs_a_schedule_and_is_refused_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = built(folder.path());
    let emulator = ascsim_tests::emulator();
    let files = write(folder.path(), &structure_hash(&schedule()).to_string());
    let output = run(&program, &files, &emulator);
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(text, "ran 3 steps; the callback was called 3 times\n");

    let files = write(folder.path(), "another");
    let output = run(&program, &files, &emulator);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("check it again"), "{errors}");
}
