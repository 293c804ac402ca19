//! `ascsim` end to end, through the binary.

mod anonymise;
mod captures;
mod check;
mod documents;
mod files;
mod generate;
mod hw;
mod report;
mod run;
mod studies;
mod what_if;

use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// The binary, without a terminal and without colour.
fn ascsim() -> Command {
    let mut command = Command::cargo_bin("ascsim").expect("cargo built it");
    command.env("NO_COLOR", "1").current_dir(workspace());
    command
}

/// The root of the workspace.
fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Runs `ascsim` and returns exit code, standard output and standard error.
fn run(arguments: &[&str], input: &[u8]) -> (i32, String, String) {
    let output = ascsim()
        .args(arguments)
        .write_stdin(input)
        .output()
        .expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code().unwrap_or(-1),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Runs `ascsim`, which must succeed, and returns its standard output.
fn good(arguments: &[&str]) -> String {
    let (code, out, error) = run(arguments, b"");
    assert_eq!(code, 0, "{arguments:?}: {error}");
    out
}

/// Runs `ascsim`, which must refuse with exit code 2 and print nothing, and returns why.
fn refused(arguments: &[&str], input: &[u8]) -> String {
    let (code, out, error) = run(arguments, input);
    assert_eq!(code, 2, "{arguments:?}: {out}{error}");
    assert!(out.is_empty(), "{arguments:?} printed {out}");
    assert!(error.starts_with("error: "), "{arguments:?}: {error}");
    error
}
