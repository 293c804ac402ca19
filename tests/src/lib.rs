//! What the tests that cross crates share.

pub mod browser;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The folder of captures, golden cases and facts beside the workspace (`../shared`), or `None` on a
/// machine that does not have it.
///
/// # Panics
/// Where the environment says `CI=true` and the folder is missing: there, a test that needs it must
/// fail and not pass unrun.
pub fn shared() -> Option<PathBuf> {
    let folder = workspace().join("../shared");
    if folder.is_dir() {
        return Some(folder);
    }
    let ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!ci, "{} is missing, and CI=true", folder.display());
    eprintln!("not run: {} is missing", folder.display());
    None
}

/// The emulator's library. Cargo builds it with tests that depend on it, into the folder of the test
/// binary; where it is not there, it is built.
///
/// # Panics
/// If it cannot be built.
pub fn emulator() -> PathBuf {
    let name = "libascsim_emulator.so";
    let exe = std::env::current_exe().expect("a running test has a path");
    let mut folders = exe.ancestors().skip(1);
    let beside = folders.next().expect("a file is in a folder").join(name);
    if beside.is_file() {
        return beside;
    }
    let target = folders.nth(1).expect("tests lie in deps of their profile");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--manifest-path"])
        .arg(workspace().join("exec/emulator/Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "building the emulator failed");
    target.join("debug").join(name)
}
