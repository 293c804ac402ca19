//! `profiler_info*.json` and `profiler_metadata.json`: how the capture was made.

use std::path::Path;

use super::document::Document;
use super::object::{Object, text};
use super::row::Row;
use crate::TraceError;
use crate::model::Meta;

/// Fills `meta` from the settings at `path`.
///
/// # Errors
/// A file that cannot be read, malformed JSON, a key that comes twice.
pub(crate) fn read_info(path: &Path, meta: &mut Meta) -> Result<(), TraceError> {
    let document = Document::open(path)?;
    let root = document.root()?;
    let config = root.nested("config")?;
    let experimental = config.nested("experimental_config")?;
    let owned = |row: &Row<'_>, key: &str| row.text(key).map(|text| text.into_owned());
    meta.rank = root.small_id(&["rank_id"])?.or_else(|| rank_in_name(path));
    meta.cann = owned(&root, "cann_version");
    meta.torch_npu = owned(&root, "torch_npu_version");
    meta.level = owned(&experimental, "_profiler_level");
    meta.aic_metrics = owned(&experimental, "_aic_metrics");
    meta.l2_cache = experimental
        .object()
        .raw("_l2_cache")
        .map(|raw| raw == "true");
    for (section, keys) in [
        (
            &config.nested("common_config")?,
            ["record_shapes", "profile_memory", "with_stack"].as_slice(),
        ),
        (
            &experimental,
            ["_export_type", "_data_simplification", "_msprof_tx"].as_slice(),
        ),
    ] {
        for key in keys {
            if let Some(raw) = section.object().raw(key) {
                let value: String = text(raw).split_whitespace().collect();
                meta.settings
                    .push(((*key).trim_start_matches('_').to_owned(), value));
            }
        }
    }
    Ok(())
}

/// Adds the environment at `path` to `meta`: variables that were set.
///
/// # Errors
/// A file that cannot be read, malformed JSON, a key that comes twice.
pub(crate) fn read_environment(path: &Path, meta: &mut Meta) -> Result<(), TraceError> {
    let document = Document::open(path)?;
    let variables = document.root()?.nested("ENV_VARIABLES")?;
    add_environment(variables.object(), meta);
    Ok(())
}

/// Adds the environment in `json`, as a database holds it: variables that were
/// set. Damaged text is left out.
pub(crate) fn environment(json: &str, meta: &mut Meta) {
    let Ok(variables) = Object::parse(json) else {
        return;
    };
    add_environment(&variables, meta);
}

fn add_environment(variables: &Object<'_>, meta: &mut Meta) {
    for (key, raw) in variables.fields() {
        let value = text(raw);
        if !value.is_empty() && raw.starts_with('"') {
            meta.settings.push((key.to_owned(), value.into_owned()));
        }
    }
}

/// The rank of `profiler_info_RANK.json`.
fn rank_in_name(path: &Path) -> Option<u32> {
    let name = super::source::plain_name(path.file_name()?.to_str()?);
    let stem = name.strip_suffix(".json")?;
    stem.strip_prefix("profiler_info_")?.parse().ok()
}
