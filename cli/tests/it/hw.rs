//! `ascsim hw`, and `--hw`.

use serde_json::Value;

use crate::{good, refused};

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&good(arguments)).expect("JSON")
}

#[test]
fn every_listed_profile_can_be_shown() {
    let list = json(&["hw", "list", "--json"]);
    let profiles = list["profiles"].as_array().expect("a list");
    assert!(profiles.len() >= 20, "{}", profiles.len());
    let text = good(&["hw", "list"]);
    for profile in profiles {
        let name = profile["name"].as_str().expect("a name");
        assert!(text.contains(name), "{name}");
        assert!(good(&["hw", "show", name]).contains(name), "{name}");
    }
}

#[test]
fn a_profile_shows_value_range_and_source() {
    let text = good(&["hw", "show", "910c-752t"]);
    assert!(text.contains("chip.hbm_bytes_per_s"), "{text}");
    let shown = json(&["hw", "show", "910c-752t", "--json"]);
    let aic = &shown["profile"]["parameters"]["chip.aic"];
    assert_eq!(aic["value"], 24.0, "{shown}");
    assert!(
        aic["source"]
            .as_str()
            .is_some_and(|source| !source.is_empty())
    );
}

#[test]
fn a_difference_names_what_differs() {
    let text = good(&["hw", "diff", "910c-752t", "910c-560t"]);
    assert!(text.contains("chip.aic: 24 cores -> 20 cores"), "{text}");
    assert!(!text.contains("chip.hbm_bytes_per_s"), "{text}");
}

#[test]
fn wrong_profiles_are_refused_by_name() {
    let why = refused(&["hw", "show", "nonsense"], b"");
    assert!(why.contains("nonsense"), "{why}");
    let why = refused(&["hw", "diff", "910c-752t", "ub"], b"");
    assert!(why.contains("ub"), "{why}");
    let why = refused(&["what-if", "--hw", "ub"], b"");
    assert!(why.contains("is a link"), "{why}");
    let why = refused(&["what-if", "--hw", "910b1", "--hw", "910b2"], b"");
    assert!(why.contains("two profiles of kind chip"), "{why}");
    let why = refused(&["what-if", "--hw", "nowhere.toml"], b"");
    assert!(why.contains("nowhere.toml"), "{why}");
}

#[test]
fn a_machine_makes_what_if_say_so_and_costs_its_launches() {
    let plain = json(&["what-if", "--json", "--samples", "0"]);
    let there = json(&["what-if", "--json", "--samples", "0", "--hw", "a3-server"]);
    let ns = |answer: &Value| answer["answers"][0]["before"]["makespan"]["ns"].as_i64();
    assert!(ns(&plain) < ns(&there), "{plain} {there}");
    let notes = there["notes"].to_string();
    assert!(notes.contains("machine `a3-server`"), "{notes}");
    // Fewer cores, and no faster.
    let fewer = json(&["what-if", "--json", "--samples", "0", "--hw", "910c-560t"]);
    assert!(ns(&there) <= ns(&fewer), "{there} {fewer}");
}
