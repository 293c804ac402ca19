//! What the tests that cross crates share.

use std::path::{Path, PathBuf};

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
