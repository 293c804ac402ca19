//! What is particular to MindSpore's timelines on 910A: iterations instead of
//! steps, notify ids that pair nothing, cube times in the rows themselves.

use std::collections::BTreeMap;
use std::path::Path;

use super::document::Document;
use crate::model::{KernelDetail, Meta, Name, Note, Pmu, TaskKind};
use crate::{Trace, TraceError};

/// Fills `meta` from `info.json.N` at `path`.
///
/// # Errors
/// A file that cannot be read, malformed JSON, a key that comes twice.
pub(crate) fn read_info(path: &Path, meta: &mut Meta) -> Result<(), TraceError> {
    let document = Document::open(path)?;
    let root = document.root()?;
    meta.rank = root.small_id(&["rank_id"])?;
    if let Some(version) = root.text("platform_version") {
        let setting = ("platform_version".to_owned(), version.into_owned());
        meta.settings.push(setting);
    }
    Ok(())
}

/// Puts each kernel into its iteration, with its cube time from `core_times`
/// (by absolute start and stream); drops notify ids.
pub(crate) fn finish(trace: &mut Trace, core_times: &BTreeMap<(i64, u32), i64>) {
    for task in &mut trace.tasks {
        if task.kind != TaskKind::Kernel {
            continue;
        }
        let end = trace
            .steps
            .partition_point(|step| step.span.start <= task.span.start);
        let step = end.checked_sub(1).and_then(|index| trace.steps.get(index));
        let at = task.span.start.saturating_add(trace.epoch_ns);
        let Ok(detail) = u32::try_from(trace.details.len()) else {
            return;
        };
        task.detail = Some(detail);
        trace.details.push(KernelDetail {
            step: step
                .filter(|step| task.span.start <= step.span.end)
                .map(|step| step.number),
            op_type: Name::default(),
            block_dim: None,
            mix_block_dim: None,
            input_shapes: None,
            input_types: None,
            output_shapes: None,
            output_types: None,
            pmu: Pmu {
                aic_ns: core_times.get(&(at, task.stream)).copied(),
                ..Pmu::default()
            },
        });
    }
    let mut dropped = 0;
    for plane in &mut trace.planes {
        dropped += usize::from(plane.notify.take().is_some());
    }
    if dropped > 0 {
        trace.notes.push(Note {
            code: "notify-ids-dropped",
            text: format!(
                "{dropped} notifies carry ids that do not pair across ranks on this chip; they are left out"
            ),
        });
    }
}
