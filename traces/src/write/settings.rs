//! The small JSON files: settings, environment, communication times.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};

use serde::de::IgnoredAny;

use crate::Trace;
use crate::model::CommTimes;

/// A text as a JSON string.
pub(super) struct Json<'a>(pub(super) &'a str);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self.0).map_err(|_| fmt::Error)?)
    }
}

/// Settings that `profiler_info_RANK.json` has, besides those with a field of their own.
const COMMON: [&str; 3] = ["record_shapes", "profile_memory", "with_stack"];
const EXPERIMENTAL: [&str; 3] = ["export_type", "data_simplification", "msprof_tx"];
/// What other sources than the environment gave.
const NO_ENVIRONMENT: [&str; 3] = ["npu_info", "schema_version", "platform_version"];

/// The value of a setting.
pub(super) fn setting<'a>(trace: &'a Trace, key: &str) -> Option<&'a str> {
    let mut settings = trace.meta.settings.iter();
    let (_, value) = settings.find(|(name, _)| name == key)?;
    Some(value)
}

/// The settings that come from the environment, each key once.
fn environment(trace: &Trace) -> Vec<(&str, &str)> {
    let mut known = BTreeSet::new();
    let settings = trace.meta.settings.iter();
    settings
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .filter(|(key, _)| {
            let elsewhere = [COMMON, EXPERIMENTAL, NO_ENVIRONMENT].concat();
            !elsewhere.contains(key) && known.insert(*key)
        })
        .collect()
}

pub(super) fn has_environment(trace: &Trace) -> bool {
    !environment(trace).is_empty()
}

/// Whether there are settings of the profiler.
pub(super) fn has_info(trace: &Trace) -> bool {
    let meta = &trace.meta;
    let keys = COMMON.iter().chain(&EXPERIMENTAL);
    meta.level.is_some()
        || meta.aic_metrics.is_some()
        || meta.l2_cache.is_some()
        || meta.cann.is_some()
        || meta.torch_npu.is_some()
        || keys.into_iter().any(|key| setting(trace, key).is_some())
}

/// `profiler_info_RANK.json`.
pub(super) fn info(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let meta = &trace.meta;
    let section = |keys: &[&str], before: &str| {
        let known = keys.iter().filter_map(|key| {
            let value = raw(setting(trace, key)?);
            Some(format!(r#""{before}{key}": {value}"#))
        });
        known.collect::<Vec<_>>()
    };
    let common = section(&COMMON, "");
    let mut experimental = Vec::new();
    for (key, value) in [
        ("_profiler_level", &meta.level),
        ("_aic_metrics", &meta.aic_metrics),
    ] {
        experimental.extend(
            value
                .as_ref()
                .map(|value| format!(r#""{key}": {}"#, Json(value))),
        );
    }
    experimental.extend(meta.l2_cache.map(|on| format!(r#""_l2_cache": {on}"#)));
    experimental.extend(section(&EXPERIMENTAL, "_"));
    let mut root = vec![format!(
        r#""config": {{"common_config": {{{}}}, "experimental_config": {{{}}}}}"#,
        common.join(", "),
        experimental.join(", ")
    )];
    root.extend(meta.rank.map(|rank| format!(r#""rank_id": {rank}"#)));
    for (key, value) in [
        ("cann_version", &meta.cann),
        ("torch_npu_version", &meta.torch_npu),
    ] {
        root.extend(
            value
                .as_ref()
                .map(|value| format!(r#""{key}": {}"#, Json(value))),
        );
    }
    writeln!(out, "{{{}}}", root.join(", "))
}

/// The value as JSON: as it stands where it is a switch, a number or a list.
fn raw(value: &str) -> String {
    let is_json = serde_json::from_str::<IgnoredAny>(value).is_ok() && !value.starts_with('"');
    match is_json {
        true => value.to_owned(),
        false => Json(value).to_string(),
    }
}

/// The variables as one JSON object.
pub(super) fn variables(trace: &Trace) -> String {
    let fields: Vec<String> = environment(trace)
        .into_iter()
        .map(|(key, value)| format!("{}: {}", Json(key), Json(value)))
        .collect();
    format!("{{{}}}", fields.join(", "))
}

/// `profiler_metadata.json`.
pub(super) fn metadata(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, r#"{{"ENV_VARIABLES": {}}}"#, variables(trace))
}

/// MindSpore's `info.json.0`.
pub(super) fn mindspore(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut fields = Vec::new();
    fields.extend(trace.meta.rank.map(|rank| format!(r#""rank_id": {rank}"#)));
    let version = setting(trace, "platform_version");
    fields.extend(version.map(|version| format!(r#""platform_version": {}"#, Json(version))));
    writeln!(out, "{{{}}}", fields.join(", "))
}

/// `communication.json`: the times of each collective, by name and group.
pub(super) fn communication(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut known = BTreeSet::new();
    let mut rows = Vec::new();
    for op in &trace.collectives {
        let Some(times) = op.times else { continue };
        let group = op.group_id.map_or("", |id| trace.name(id));
        let key = format!("{}@{group}", trace.name(op.name));
        if !known.insert(key.clone()) {
            continue;
        }
        rows.push(format!(
            r#"{}: {{"Communication Time Info": {}}}"#,
            Json(&key),
            comm_times(&times)
        ));
    }
    let step = trace.steps.first().map_or(0, |step| step.number);
    writeln!(
        out,
        r#"{{"step{step}": {{"p2p": {{}}, "collective": {{{}}}}}}}"#,
        rows.join(",\n")
    )
}

fn comm_times(times: &CommTimes) -> String {
    let fields = [
        ("Elapse", times.elapse_ns),
        ("Transit", times.transit_ns),
        ("Wait", times.wait_ns),
        ("Synchronization", times.synchronization_ns),
        ("Idle", times.idle_ns),
    ];
    let fields = fields.map(|(name, ns)| format!(r#""{name} Time(ms)": {}"#, format_ms(ns)));
    format!("{{{}}}", fields.join(", "))
}

/// `ns` as ms with six decimals, exact.
fn format_ms(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let size = ns.unsigned_abs();
    format!("{sign}{}.{:06}", size / 1_000_000, size % 1_000_000)
}
