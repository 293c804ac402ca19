//! The layers of the architecture, read from the manifests and sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ascsim_tests::workspace;

/// Which of our crates a crate may depend on, outside its tests. A crate that is not listed here
/// fails the test: adding one is a decision about the layers.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("ascsim-schedules", &[]),
    ("ascsim-check", &["ascsim-schedules"]),
    ("ascsim-hwmodels", &["ascsim-schedules"]),
    ("ascsim-traces", &["ascsim-schedules"]),
    ("ascsim-exec", &["ascsim-schedules", "ascsim-check"]),
    ("ascsim-emulator", &["ascsim-schedules"]),
    (
        "ascsim-sim",
        &["ascsim-schedules", "ascsim-hwmodels", "ascsim-traces"],
    ),
    (
        "ascsim-studies",
        &[
            "ascsim-schedules",
            "ascsim-check",
            "ascsim-hwmodels",
            "ascsim-traces",
            "ascsim-sim",
        ],
    ),
    ("ascsim-report", &["ascsim-schedules", "ascsim-studies"]),
    (
        "ascsim",
        &[
            "ascsim-schedules",
            "ascsim-check",
            "ascsim-hwmodels",
            "ascsim-traces",
            "ascsim-sim",
            "ascsim-studies",
            "ascsim-exec",
            "ascsim-report",
        ],
    ),
];

/// Lines a source file may have.
const MOST_LINES: usize = 1_000;

fn manifest(folder: &Path) -> toml::Table {
    let file = folder.join("Cargo.toml");
    let text = fs::read_to_string(&file).expect("a member has a manifest");
    text.parse()
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn members() -> Vec<PathBuf> {
    let root = workspace();
    let members = manifest(&root)["workspace"]["members"].clone();
    let members = members.as_array().expect("members is a list").clone();
    members
        .iter()
        .map(|name| root.join(name.as_str().expect("members are paths")))
        .collect()
}

#[test]
fn crates_depend_only_downwards() {
    let allowed: BTreeMap<&str, BTreeSet<&str>> = MAY_DEPEND_ON
        .iter()
        .map(|(name, list)| (*name, list.iter().copied().collect()))
        .collect();
    let mut seen = 0;
    for folder in members() {
        let manifest = manifest(&folder);
        let name = manifest["package"]["name"]
            .as_str()
            .expect("a name is text")
            .to_owned();
        if name == "ascsim-tests" {
            continue;
        }
        let allowed = allowed
            .get(name.as_str())
            .unwrap_or_else(|| panic!("{name} has no layer: add it to MAY_DEPEND_ON"));
        seen += 1;
        for section in ["dependencies", "build-dependencies"] {
            let Some(table) = manifest.get(section).and_then(toml::Value::as_table) else {
                continue;
            };
            for dependency in table.keys().filter(|key| key.starts_with("ascsim")) {
                assert!(
                    allowed.contains(dependency.as_str()),
                    "{name} must not depend on {dependency}",
                );
            }
        }
    }
    assert!(seen >= 2, "the test read {seen} manifests");
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

#[test]
fn sources_are_short_and_hold_no_allow() {
    let mut files = Vec::new();
    sources(&workspace(), &mut files);
    assert!(files.len() > 10, "the test found {} files", files.len());
    for file in files {
        let text = fs::read_to_string(&file).expect("a source is text");
        let lines = text.lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", file.display());
        let allow = concat!("#[", "allow(");
        assert!(
            !text.contains(allow),
            "{} uses allow: expect with a reason",
            file.display()
        );
    }
}
