//! COMPUTE_TASK_INFO and TASK_PMU_INFO: what the database says of kernels.

use std::collections::BTreeMap;

use super::Source;
use super::tasks::Tasks;
use crate::TraceError;
use crate::model::{Engine, KernelDetail, Names, Pmu};
use crate::read::kernel_details::KernelRow;

/// The columns read; `blockNum` is what CANN 9 calls `blockDim`.
const COLUMNS: &[&[&str]] = &[
    &["globalTaskId"],
    &["name"],
    &["taskType"],
    &["opType"],
    &["blockDim", "blockNum"],
    &["mixBlockDim", "mixBlockNum"],
    &["inputShapes"],
    &["inputDataTypes"],
    &["outputShapes"],
    &["outputDataTypes"],
];

/// One kernel; texts by their id in STRING_IDS.
#[derive(Debug, Default)]
struct Kernel {
    name: Option<i64>,
    core: Option<i64>,
    op_type: Option<i64>,
    block_dim: Option<u32>,
    mix_block_dim: Option<u32>,
    /// Input shapes and types, output shapes and types.
    tensors: [Option<i64>; 4],
    pmu: Pmu,
}

/// The kernels by their global task id.
#[derive(Debug, Default)]
pub(super) struct Kernels(BTreeMap<i64, Kernel>);

impl Kernels {
    /// Reads the kernels and their counters.
    pub(super) fn read(source: &Source<'_>) -> Result<Self, TraceError> {
        let mut kernels = BTreeMap::new();
        source.database.rows("COMPUTE_TASK_INFO", COLUMNS, |row| {
            let Some(id) = row.integer(0)? else {
                return Ok(());
            };
            let kernel = Kernel {
                name: row.integer(1)?,
                core: row.integer(2)?,
                op_type: row.integer(3)?,
                block_dim: row.small_id(4)?,
                mix_block_dim: row.small_id(5)?,
                tensors: [
                    row.integer(6)?,
                    row.integer(7)?,
                    row.integer(8)?,
                    row.integer(9)?,
                ],
                pmu: Pmu::default(),
            };
            kernels.entry(id).or_insert(kernel);
            Ok(())
        })?;
        let mut kernels = Self(kernels);
        kernels.counters(source)?;
        Ok(kernels)
    }

    fn counters(&mut self, source: &Source<'_>) -> Result<(), TraceError> {
        let columns: &[&[&str]] = &[&["globalTaskId"], &["name"], &["value"]];
        source.database.rows("TASK_PMU_INFO", columns, |row| {
            let id = row.integer(0)?;
            let Some(kernel) = id.and_then(|id| self.0.get_mut(&id)) else {
                return Ok(());
            };
            let Some(value) = row.number(2)? else {
                return Ok(());
            };
            let pmu = &mut kernel.pmu;
            // Times are ns here, µs in tables; beyond any capture they saturate.
            let ns = || Some(value.round() as i64);
            match source.string(row, 1)?.unwrap_or_default() {
                "aic_total_time" => pmu.aic_ns = ns(),
                "aiv_total_time" => pmu.aiv_ns = ns(),
                "aic_mac_ratio" => pmu.aic_mac_ratio = Some(value),
                "aic_mte2_ratio" => pmu.aic_mte2_ratio = Some(value),
                "aiv_vec_ratio" => pmu.aiv_vec_ratio = Some(value),
                "aiv_mte2_ratio" => pmu.aiv_mte2_ratio = Some(value),
                "aiv_mte3_ratio" => pmu.aiv_mte3_ratio = Some(value),
                _ => {}
            }
            Ok(())
        })
    }

    /// The name of the kernel of task `id`; `None` if the task is no kernel.
    pub(super) fn name<'a>(&self, source: &'a Source<'_>, id: i64) -> Option<&'a str> {
        let kernel = self.0.get(&id)?;
        let text = kernel.name.and_then(|name| source.strings.get(&name));
        Some(text.map_or("", |text| text.as_str()))
    }

    /// The rows of the kernels whose tasks were read.
    pub(super) fn rows(
        &self,
        source: &Source<'_>,
        tasks: &Tasks,
        names: &mut Names,
    ) -> Vec<KernelRow> {
        let text = |id: Option<i64>| {
            let text = id.and_then(|id| source.strings.get(&id));
            text.map(|text| text.as_str()).filter(|text| *text != "N/A")
        };
        let mut rows = Vec::with_capacity(self.0.len());
        for (&id, kernel) in &self.0 {
            let Some(task) = tasks.get(id) else { continue };
            let core = text(kernel.core).unwrap_or_default();
            let core_name = names.intern(core);
            // Shapes are in quotes within the text.
            let mut intern =
                |id: Option<i64>| text(id).map(|text| names.intern(text.trim_matches('"')));
            let [input_shapes, input_types, output_shapes, output_types] = kernel.tensors;
            rows.push(KernelRow {
                name: task.name,
                engine: Engine::of_accelerator_core(core),
                core: core_name,
                model: None,
                stream: Some(task.stream),
                task: task.task,
                context: task.context,
                span: task.span,
                detail: KernelDetail {
                    step: None,
                    op_type: intern(kernel.op_type).unwrap_or_default(),
                    block_dim: kernel.block_dim,
                    mix_block_dim: kernel.mix_block_dim,
                    input_shapes: intern(input_shapes),
                    input_types: intern(input_types),
                    output_shapes: intern(output_shapes),
                    output_types: intern(output_types),
                    pmu: kernel.pmu,
                },
            });
        }
        rows
    }
}
