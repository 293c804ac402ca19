//! Every crate that is built into ascsim or its tests has a licence that deny.toml allows.
//!
//! `cargo deny check` does this and reads advisories too, but needs a tool and a database that a
//! machine may be unable to fetch; this test needs only cargo.

use std::collections::BTreeSet;
use std::process::Command;

use ascsim_tests::workspace;
use spdx::{Expression, ParseMode};

fn allowed() -> Vec<String> {
    let text = std::fs::read_to_string(workspace().join("deny.toml")).expect("deny.toml exists");
    let deny: toml::Table = text.parse().expect("deny.toml is TOML");
    let list = deny["licenses"]["allow"]
        .as_array()
        .expect("a list of licences")
        .clone();
    list.iter()
        .map(|name| name.as_str().expect("licences are text").to_owned())
        .collect()
}

#[test]
fn dependencies_have_allowed_licences() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--workspace",
            "--all-features",
            "--locked",
            "--offline",
        ])
        .args(["--prefix", "none", "--no-dedupe", "--format", "{p}\t{l}"])
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let packages: BTreeSet<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    assert!(
        packages.len() > 20,
        "the test found {} packages",
        packages.len()
    );

    let allowed = allowed();
    let mut refused = Vec::new();
    for package in packages {
        let (_, licence) = package.split_once('\t').expect("the format has a tab");
        // How cargo marks what it has shown before: tests that depend on each other's crates.
        let licence = licence.trim_end_matches(" (*)");
        let ok = Expression::parse_mode(licence, ParseMode::LAX).is_ok_and(|expression| {
            expression.evaluate(|need| allowed.contains(&need.to_string()))
        });
        if !ok {
            refused.push(package);
        }
    }
    assert!(refused.is_empty(), "licences to look at: {refused:#?}");
}
