//! Both hashes change exactly when they should: every kind of edit of every field, against a rule
//! about paths that knows nothing of how the hashes are made.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::path::JsonStep;
use crate::testing::arbitrary_schedule;

/// A schedule read without validation, since most edits make no sense.
fn parse(file: &Value) -> Option<Schedule> {
    serde_json::from_str(&file.to_string()).ok()
}

/// The paths of all values of `file`, the file itself left out.
fn paths(value: &Value, path: &mut Vec<JsonStep>, all: &mut Vec<Vec<JsonStep>>) {
    let mut visit = |step: JsonStep, value: &Value| {
        path.push(step);
        all.push(path.clone());
        paths(value, path, all);
        path.pop();
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| visit(JsonStep::Field(name.clone()), value)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(index, value)| visit(JsonStep::Item(index), value)),
        _ => {}
    }
}

fn at<'a>(file: &'a mut Value, path: &[JsonStep]) -> &'a mut Value {
    path.iter().fold(file, |value, step| match step {
        JsonStep::Field(name) => &mut value[name.as_str()],
        JsonStep::Item(index) => &mut value[*index],
    })
}

/// Other values that could stand in the place of `value`.
fn others(value: &Value) -> Vec<Value> {
    const VARIANTS: &[&str] = &[
        "hbm",
        "host_pinned",
        "own",
        "borrowed",
        "ex",
        "sync",
        "ai_cpu",
        "aiv",
        "global",
        "relaxed",
        "read",
        "write",
        "whole",
        "any",
        "unknown",
        "measured",
        "stated",
        "recorded",
        "external",
        "host_to_device",
        "peer",
        "all_reduce",
        "barrier",
        "geq",
        "eq",
        "normal",
        "batch",
        "work",
        "think",
        "device",
        "fixed",
        "ascsim.schedule/1.7",
    ];
    match value {
        Value::Null => vec![Value::Bool(true)],
        Value::Bool(value) => vec![(!value).into()],
        Value::Number(number) => match number.as_i64() {
            Some(value) => vec![(value ^ 1).into(), (value as f64 + 0.5).into()],
            None => vec![(number.as_f64().unwrap_or(0.0) * 0.5).into(), 17.into()],
        },
        Value::String(text) => {
            let variants = VARIANTS.iter().map(|text| (*text).into());
            std::iter::once(format!("{text}x").into())
                .chain(variants)
                .collect()
        }
        Value::Array(_) | Value::Object(_) => Vec::new(),
    }
}

/// Whether the text is an unknown field, as the generator names them.
fn unknown(name: &str) -> bool {
    name.starts_with("x ")
}

fn holds_unknown(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| unknown(name) || holds_unknown(value)),
        Value::Array(list) => list.iter().any(holds_unknown),
        _ => false,
    }
}

/// Whether an executor acts on what is at `path` of `file`. For a value with parts: on any of them.
fn structural(file: &Value, path: &[JsonStep]) -> bool {
    let names: Vec<&str> = path
        .iter()
        .map(|step| match step {
            JsonStep::Field(name) => name.as_str(),
            JsonStep::Item(_) => "#",
        })
        .collect();
    let mut file = file.clone();
    if names.iter().any(|name| unknown(name)) || holds_unknown(at(&mut file, path)) {
        return true;
    }
    match names.as_slice() {
        ["format" | "name" | "description", ..] => false,
        ["buffers", "#", "tags", ..] => false,
        ["variables"] => {
            let count = file["variables"].as_array().unwrap().len();
            (0..count).any(|index| structural(&file, &[path[0].clone(), JsonStep::Item(index)]))
        }
        ["variables", "#", "from" | "note", ..] => false,
        ["variables", "#", ..] => {
            let variable = at(&mut file, &path[..2]).clone();
            let used = amounts(&file).contains(variable["name"].as_str().unwrap());
            // Unknown fields keep the name of a variable that nothing uses.
            used || (names[2..] == ["name"] && holds_unknown(&variable))
        }
        ["ranks", "#", "overrides"] => {
            let list = at(&mut file, path).as_array().unwrap().len();
            let item = |index| [path, &[JsonStep::Item(index)]].concat();
            (0..list).any(|index| structural(&file, &item(index)))
        }
        ["ranks", "#", "overrides", "#", rest @ ..] => match rest {
            ["duration" | "issue" | "delay", ..] => false,
            ["bytes" | "peer", ..] => true,
            // The target of an override that overrides nothing structural.
            _ => {
                let entry = at(&mut file, &path[..4]);
                entry.get("bytes").is_some() || entry.get("peer").is_some() || holds_unknown(entry)
            }
        },
        ["programs", "#", "ops", "#", rest @ ..] => structural_field(rest),
        _ => true,
    }
}

fn structural_field(names: &[&str]) -> bool {
    match names {
        ["work" | "duration" | "issue" | "delay" | "tags", ..] => false,
        [
            "kind",
            "group" | "super_kernel",
            "tasks" | "parts",
            "#",
            "op",
            rest @ ..,
        ] => structural_field(rest),
        _ => true,
    }
}

/// The variables that bytes and counts in `file` name.
fn amounts(file: &Value) -> BTreeSet<String> {
    fn texts(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::String(text) => {
                let name = text.split('[').next().unwrap_or_default();
                found.insert(name.to_owned());
            }
            Value::Array(list) => list.iter().for_each(|value| texts(value, found)),
            Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    paths(file, &mut Vec::new(), &mut all);
    let mut found = BTreeSet::new();
    let mut copy = file.clone();
    for path in all {
        let is_amount = matches!(path.last(), Some(JsonStep::Field(name)) if name == "bytes" || name == "count");
        let inside =
            matches!(&path[0], JsonStep::Field(name) if name == "programs" || name == "ranks");
        let hidden = path
            .iter()
            .any(|step| matches!(step, JsonStep::Field(name) if unknown(name)));
        if is_amount && inside && !hidden {
            texts(at(&mut copy, &path), &mut found);
        }
    }
    found
}

/// Compares the hashes before and after an edit with what they should do.
fn compare(
    before: &Schedule,
    edited: &Value,
    structure: bool,
    what: &str,
) -> Result<(), TestCaseError> {
    let Some(after) = parse(edited) else {
        return Ok(());
    };
    if after == *before {
        return Ok(());
    }
    prop_assert_ne!(
        content_hash(before),
        content_hash(&after),
        "content, {}",
        what
    );
    let changed = structure_hash(before) != structure_hash(&after);
    prop_assert_eq!(changed, structure, "structure, {}", what);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn each_edit_changes_the_hashes_that_it_should(
        schedule in arbitrary_schedule(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 30),
    ) {
        let file = serde_json::to_value(&schedule).unwrap();
        let mut all = Vec::new();
        paths(&file, &mut Vec::new(), &mut all);
        for pick in picks {
            let path = pick.get(&all);
            let what = format!("{}", crate::JsonPath(path.clone()));
            let structure = structural(&file, path);
            // Replaced by the first other value that fits.
            let fits = |other: &Value| {
                let mut edited = file.clone();
                *at(&mut edited, path) = other.clone();
                parse(&edited).is_some_and(|after| after != schedule).then_some(edited)
            };
            if let Some(edited) = others(at(&mut file.clone(), path)).iter().find_map(fits) {
                compare(&schedule, &edited, structure, &format!("{what}: {edited}"))?;
            }
            // Left out.
            let (last, parent) = path.split_last().unwrap();
            let mut edited = file.clone();
            match (last, at(&mut edited, parent)) {
                (JsonStep::Field(name), Value::Object(fields)) => drop(fields.remove(name)),
                (JsonStep::Item(index), Value::Array(list)) => drop(list.remove(*index)),
                _ => unreachable!("a path leads through its own parents"),
            }
            compare(&schedule, &edited, structure, &format!("no {what}"))?;
        }
    }

    #[test]
    fn an_unknown_field_changes_both(
        schedule in arbitrary_schedule(),
        pick in any::<prop::sample::Index>(),
    ) {
        let file = serde_json::to_value(&schedule).unwrap();
        let mut all = vec![Vec::new()];
        paths(&file, &mut Vec::new(), &mut all);
        let path = pick.get(&all);
        let mut edited = file.clone();
        if let Value::Object(fields) = at(&mut edited, path) {
            fields.insert("x new".to_owned(), 1.into());
            // Closed types refuse it; tags are not fields.
            let tags = matches!(path.last(), Some(JsonStep::Field(name)) if name == "tags");
            if !tags {
                compare(&schedule, &edited, true, &crate::JsonPath(path.clone()).to_string())?;
            }
        }
    }

    #[test]
    fn the_order_of_declarations_is_content_and_that_of_ops_is_structure(
        schedule in arbitrary_schedule(),
    ) {
        let file = serde_json::to_value(&schedule).unwrap();
        let sections = [
            "variables", "buffers", "streams", "events", "notifies", "communicators", "programs",
            "ranks",
        ];
        for section in sections {
            let mut edited = file.clone();
            if let Some(list) = edited[section].as_array_mut() {
                list.reverse();
                compare(&schedule, &edited, false, section)?;
            }
        }
        for (index, program) in schedule.programs.iter().enumerate() {
            let mut edited = schedule.clone();
            edited.programs[index].ops.reverse();
            let changed = program.ops.len() > 1;
            prop_assert_eq!(structure_hash(&edited) != structure_hash(&schedule), changed);
            prop_assert_eq!(content_hash(&edited) != content_hash(&schedule), changed);
        }
        for index in 0..schedule.ranks.len() {
            let mut edited = schedule.clone();
            edited.ranks[index].overrides.reverse();
            prop_assert_eq!(structure_hash(&edited), structure_hash(&schedule));
        }
    }
}

#[test]
fn the_content_hash_is_that_of_the_unpacked_binary_form() {
    use crate::format::{Encoding, MAGIC, to_bytes};
    let schedule = Schedule {
        name: "one".to_owned(),
        ..Schedule::default()
    };
    let bytes = to_bytes(&schedule, Encoding::Binary).unwrap();
    let unpacked = zstd::decode_all(&bytes[MAGIC.len() + 1..]).unwrap();
    assert_eq!(blake3::hash(&unpacked), content_hash(&schedule));
    let text = r#"{"format":"ascsim.schedule/1","name":"one","programs":[],"ranks":[]}"#;
    assert_eq!(unpacked, text.as_bytes());
}

/// Certificates and predictions name these hashes, so they may not change by accident.
#[test]
fn the_hashes_are_frozen() {
    let text = r#"{
        "format": "ascsim.schedule/1.2", "name": "frozen", "buffers": [{"name": "x", "bytes": 64}],
        "streams": [{"name": "A", "priority": 1}],
        "programs": [{"name": "main", "ops": [
            {"id": "k", "stream": "A", "kind": {"kernel": {"name": "MatMul"}}, "cores": {"aic": 24},
             "accesses": [{"buffer": "x", "mode": "read"}], "tags": {"layer": "1"},
             "duration": {"ns": 12.5, "from": "measured"}, "later": [1, null]}]}],
        "ranks": [{"first": 0, "count": 2, "program": "main"}]
    }"#;
    let schedule: Schedule = crate::format::read(text.as_bytes()).unwrap();
    let hashes = format!(
        "{}\n{}\n",
        structure_hash(&schedule),
        content_hash(&schedule)
    );
    expect_test::expect![[r#"
        bde31c7aa3f4780277d735a1a732620e113fb7cd4b6d7b5f3f6a5c7b571c5e56
        1b32a472c63ebebee404608460438289683e809fa7e0e5782f043102446bd0ae
    "#]]
    .assert_eq(&hashes);
}
