//! Where the real captures are.

use std::path::{Path, PathBuf};

use ascsim_traces::{Trace, read};

/// The folder of a capture; `None`, with a note, if the captures are not at
/// hand. Under `CI=true` that is a failure.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/traces")
        .join(name);
    if path.is_dir() {
        return Some(path);
    }
    assert_ne!(
        std::env::var("CI").as_deref(),
        Ok("true"),
        "captures are missing: {} must exist in CI",
        path.display()
    );
    eprintln!("note: {} is missing, this test did not run", path.display());
    None
}

/// Reads a capture.
pub(crate) fn capture(name: &str) -> Option<Trace> {
    Some(read(&folder(name)?).unwrap_or_else(|error| panic!("{name}: {error}")))
}

pub(crate) const T1_RANK0: &str = "ddp-910b-text/level1-rank0";
pub(crate) const T1_RANK1: &str = "ddp-910b-text/level1-rank1";
pub(crate) const T1_LEVEL0: &str = "ddp-910b-text/level0-rank0";
pub(crate) const T7: &str = "tinymlp-910b3";
pub(crate) const T2: &str = "ddp-910b-db/level2-rank0";
pub(crate) const T2_CLEAN: &str = "ddp-910b-db/level1-rank0-clean";
pub(crate) const T4: &str = "llm-train-910b-pp2dp2/rank0";
pub(crate) const T9: &str = "mindspore-910a-graphsink";
