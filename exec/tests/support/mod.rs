//! How tests find the emulator.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The emulator's library. Cargo builds it with the tests, which depend on it, into the folder of
/// the test binary; where it is not there, it is built.
pub(crate) fn emulator() -> PathBuf {
    let name = "libascsim_emulator.so";
    let exe = std::env::current_exe().expect("a running test has a path");
    let folder = exe.parent().expect("a file is in a folder");
    let beside = folder.join(name);
    if beside.is_file() {
        return beside;
    }
    let target = folder
        .parent()
        .expect("the folder of tests is in that of the profile");
    let target = target
        .parent()
        .expect("the folder of the profile is in the target folder");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("emulator/Cargo.toml");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(target)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "building the emulator failed");
    target.join("debug").join(name)
}
