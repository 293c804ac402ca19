//! Kernel tables: `kernel_details.csv` of torch_npu, `op_summary_*.csv` of msprof.

use std::path::Path;

use super::table::{Column, Table};
use super::window::Window;
use crate::TraceError;
use crate::model::{Engine, KernelDetail, Name, Names, Pmu};
use crate::time::Span;

/// One row, with what joins it to a task; times absolute.
#[derive(Debug)]
pub(crate) struct KernelRow {
    pub(crate) name: Name,
    /// `None` at Level0, where the cell is N/A.
    pub(crate) engine: Option<Engine>,
    /// The core as written.
    pub(crate) core: Name,
    pub(crate) model: Option<u32>,
    pub(crate) stream: Option<u32>,
    pub(crate) task: Option<u32>,
    pub(crate) context: Option<u32>,
    pub(crate) span: Span,
    pub(crate) detail: KernelDetail,
}

/// The row of a collective.
#[derive(Debug)]
pub(crate) struct CollectiveRow {
    pub(crate) name: Name,
    pub(crate) span: Span,
}

/// The rows of a kernel table.
#[derive(Debug, Default)]
pub(crate) struct KernelTable {
    /// Kernels.
    pub(crate) kernels: Vec<KernelRow>,
    /// Collectives: they repeat the communication lane, where there is one.
    pub(crate) collectives: Vec<CollectiveRow>,
    /// Whether the rows name their streams; not so at Level0.
    pub(crate) has_streams: bool,
}

/// Reads the table at `path`.
///
/// # Errors
/// A table that cannot be read or understood, with the row.
pub(crate) fn read(path: &Path, names: &mut Names) -> Result<KernelTable, TraceError> {
    let mut table = Table::open(path)?;
    let columns = Columns::of(&table)?;
    let mut found = KernelTable {
        has_streams: columns.stream.is_some(),
        ..KernelTable::default()
    };
    let mut window = Window::default();
    while table.next()? {
        let core = table.cell(columns.core.as_ref()).unwrap_or_default();
        let name = table.cell(Some(&columns.name)).unwrap_or_default();
        let span = columns.span(&table, path, name)?;
        for at in [span.start, span.end] {
            let checked = window.check(at);
            checked.map_err(|reason| table.bad(&columns.start, name, &reason))?;
        }
        if matches!(core, "HCCL" | "COMMUNICATION") {
            let name = names.intern(name);
            found.collectives.push(CollectiveRow { name, span });
        } else {
            found.kernels.push(columns.row(&table, names, span)?);
        }
    }
    Ok(found)
}

/// The columns by name, whatever the version put between them.
#[derive(Debug)]
struct Columns {
    name: Column,
    start: Column,
    duration: Column,
    core: Option<Column>,
    step: Option<Column>,
    stream: Option<Column>,
    task: Option<Column>,
    context: Option<Column>,
    model: Option<Column>,
    op_type: Option<Column>,
    block_dim: Option<Column>,
    mix_block_dim: Option<Column>,
    input_shapes: Option<Column>,
    input_types: Option<Column>,
    output_shapes: Option<Column>,
    output_types: Option<Column>,
    aic_time: Option<Column>,
    aiv_time: Option<Column>,
    aic_mac: Option<Column>,
    aic_mte2: Option<Column>,
    aiv_vec: Option<Column>,
    aiv_mte2: Option<Column>,
    aiv_mte3: Option<Column>,
}

impl Columns {
    fn of(table: &Table) -> Result<Self, TraceError> {
        let find = |synonyms: &[&str]| table.column(synonyms);
        Ok(Self {
            name: table.needed(&["Name", "Op Name"])?,
            start: table.needed(&["Start Time(us)", "Task Start Time(us)"])?,
            duration: table.needed(&["Duration(us)", "Task Duration(us)"])?,
            core: find(&["Accelerator Core", "Task Type"]),
            step: find(&["Step Id"]),
            stream: find(&["Stream ID", "Stream Id"]),
            task: find(&["Task ID", "Task Id"]),
            context: find(&["Context ID", "Context Id"]),
            model: find(&["Model ID", "Model Id"]),
            op_type: find(&["Type", "OP Type"]),
            block_dim: find(&["Block Dim", "Block Num"]),
            mix_block_dim: find(&["Mix Block Dim", "Mix Block Num"]),
            input_shapes: find(&["Input Shapes"]),
            input_types: find(&["Input Data Types"]),
            output_shapes: find(&["Output Shapes"]),
            output_types: find(&["Output Data Types"]),
            aic_time: find(&["aicore_time(us)", "aic_time(us)"]),
            aiv_time: find(&["aiv_time(us)"]),
            aic_mac: find(&["aic_mac_ratio", "mac_ratio"]),
            aic_mte2: find(&["aic_mte2_ratio", "mte2_ratio"]),
            aiv_vec: find(&["aiv_vec_ratio"]),
            aiv_mte2: find(&["aiv_mte2_ratio"]),
            aiv_mte3: find(&["aiv_mte3_ratio"]),
        })
    }

    fn span(&self, table: &Table, path: &Path, name: &str) -> Result<Span, TraceError> {
        let start = table.needed_time(&self.start)?;
        let duration = table.needed_time(&self.duration)?;
        let end = start.checked_add(duration).filter(|_| duration >= 0);
        let end = end.ok_or_else(|| TraceError::NegativeDuration {
            path: path.to_owned(),
            place: table.place(),
            name: name.to_owned(),
            text: table
                .cell(Some(&self.duration))
                .unwrap_or_default()
                .to_owned(),
        })?;
        Ok(Span { start, end })
    }

    fn row(&self, table: &Table, names: &mut Names, span: Span) -> Result<KernelRow, TraceError> {
        let mut intern = |column: Option<&Column>| {
            table
                .cell(column)
                .map(|cell| names.intern(cell.trim_matches('"')))
        };
        let name = intern(Some(&self.name));
        let op_type = intern(self.op_type.as_ref());
        let detail = KernelDetail {
            step: table.id(self.step.as_ref())?,
            op_type: op_type.unwrap_or_default(),
            block_dim: table.id(self.block_dim.as_ref())?,
            mix_block_dim: table.id(self.mix_block_dim.as_ref())?,
            input_shapes: intern(self.input_shapes.as_ref()),
            input_types: intern(self.input_types.as_ref()),
            output_shapes: intern(self.output_shapes.as_ref()),
            output_types: intern(self.output_types.as_ref()),
            pmu: Pmu {
                aic_ns: table.time(self.aic_time.as_ref())?,
                aiv_ns: table.time(self.aiv_time.as_ref())?,
                aic_mac_ratio: table.ratio(self.aic_mac.as_ref()),
                aic_mte2_ratio: table.ratio(self.aic_mte2.as_ref()),
                aiv_vec_ratio: table.ratio(self.aiv_vec.as_ref()),
                aiv_mte2_ratio: table.ratio(self.aiv_mte2.as_ref()),
                aiv_mte3_ratio: table.ratio(self.aiv_mte3.as_ref()),
            },
        };
        let core = table.cell(self.core.as_ref()).unwrap_or_default();
        Ok(KernelRow {
            name: name.unwrap_or_default(),
            engine: Engine::of_accelerator_core(core),
            core: names.intern(core),
            model: table.id(self.model.as_ref())?,
            stream: table.id(self.stream.as_ref())?,
            task: table.id(self.task.as_ref())?,
            context: table.id(self.context.as_ref())?,
            span,
            detail,
        })
    }
}
