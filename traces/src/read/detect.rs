//! What kind of profile a path holds.

use std::path::{Path, PathBuf};

use super::folder::{Found, children, main_folders, natural, scan};
use super::sniff::{FileKind, sniff};
use super::source::plain_name;
use crate::TraceError;

/// How far below a folder profiles are looked for.
const MAX_DEPTH: u32 = 3;

/// A profile that was found, by format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Profile {
    /// A text export: a timeline with its tables, or tables alone.
    Text(TextFiles),
    /// A database.
    Database(DatabaseFiles),
    /// The dump of a captured graph, which is no capture: see [`crate::dump`].
    Dump(PathBuf),
}

impl Profile {
    /// The file that names the profile.
    pub fn main_file(&self) -> &Path {
        match self {
            Self::Text(files) => files.main_file(),
            Self::Database(files) => &files.database,
            Self::Dump(path) => path,
        }
    }
}

/// Who wrote a text export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSource {
    /// torch_npu: `trace_view.json`.
    TorchNpu,
    /// msprof: `msprof_*.json`.
    Msprof,
    /// MindSpore: a file for each iteration.
    MindSpore,
    /// Any other timeline, such as torchair's `*_prof.json`.
    Timeline,
    /// Tables without a timeline.
    Tables,
}

impl TextSource {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::TorchNpu => "torch_npu text",
            Self::Msprof => "msprof text",
            Self::MindSpore => "MindSpore timelines",
            Self::Timeline => "timeline",
            Self::Tables => "kernel table",
        }
    }
}

/// The files of a text export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFiles {
    /// Who wrote it.
    pub source: TextSource,
    /// Timeline, in parts.
    pub timelines: Vec<PathBuf>,
    /// Kernel table.
    pub kernel_table: Option<PathBuf>,
    /// Times of all tasks; read if there is no timeline.
    pub task_time: Option<PathBuf>,
    /// Times of collectives; absent at Level0.
    pub communication: Option<PathBuf>,
    /// The profiler's own step times; oracle only.
    pub step_trace: Option<PathBuf>,
    /// Settings: `profiler_info.json` or `profiler_info_RANK.json`.
    pub info: Option<PathBuf>,
    /// Environment: `profiler_metadata.json`.
    pub metadata: Option<PathBuf>,
}

impl TextFiles {
    /// The file that names the profile.
    pub fn main_file(&self) -> &Path {
        let files = [&self.kernel_table, &self.task_time];
        let first = self
            .timelines
            .first()
            .or(files.into_iter().flatten().next());
        first.map_or(Path::new(""), PathBuf::as_path)
    }
}

/// The files of a profile in SQLite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseFiles {
    /// `ascend_pytorch_profiler_N.db` or `msprof_*.db`.
    pub database: PathBuf,
    /// `analysis.db`; oracle only.
    pub analysis: Option<PathBuf>,
    /// Settings.
    pub info: Option<PathBuf>,
}

/// Finds the one profile at `path`: a profile folder, the folder of its export,
/// or a file in that.
///
/// # Errors
/// A path that cannot be read, that holds no profile (the error names what was
/// looked for) or several (the error names them).
pub fn detect(path: &Path) -> Result<Profile, TraceError> {
    let mut found = detect_all(path)?;
    match (found.pop(), found.is_empty()) {
        (Some(profile), true) => Ok(profile),
        (last, _) => Err(TraceError::SeveralProfiles {
            path: path.to_owned(),
            found: found
                .into_iter()
                .chain(last)
                .map(|profile| profile.main_file().to_owned())
                .collect(),
        }),
    }
}

/// Finds every profile at `path`: those of several ranks lie in folders beside
/// each other, or are several databases or timelines in one. Never empty.
///
/// # Errors
/// As [`detect`], several profiles being none.
pub fn detect_all(path: &Path) -> Result<Vec<Profile>, TraceError> {
    let metadata = std::fs::metadata(path).map_err(|source| TraceError::Io {
        path: path.to_owned(),
        source,
    })?;
    let found = if metadata.is_dir() {
        below(path, 0)?
    } else {
        vec![of_file(path)?]
    };
    if found.is_empty() {
        return Err(TraceError::NoProfile {
            path: path.to_owned(),
            reason: "looked for trace_view.json, a timeline (msprof_*.json, *_prof.json), \
                     a database (ascend_pytorch_profiler_*.db, msprof_*.db) and a kernel table \
                     (kernel_details.csv, op_summary_*.csv), each also as .gz or .zst; name the \
                     folder that the profiler wrote"
                .to_owned(),
        });
    }
    Ok(found)
}

/// The profiles of `folder` itself, or of what is below it.
fn below(folder: &Path, depth: u32) -> Result<Vec<Profile>, TraceError> {
    let mut dumps = Vec::new();
    for folders in main_folders(folder)? {
        let mut found = Vec::new();
        for folder in folders {
            found.extend(within(&folder)?);
        }
        let (dump, real): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|profile| matches!(profile, Profile::Dump(_)));
        if !real.is_empty() {
            return Ok(real);
        }
        dumps.extend(dump);
    }
    let mut found = Vec::new();
    if depth < MAX_DEPTH {
        for child in children(folder)? {
            found.extend(below(&child, depth + 1)?);
        }
    }
    found.extend(dumps);
    Ok(found)
}

/// The profile that the file at `path` belongs to.
fn of_file(path: &Path) -> Result<Profile, TraceError> {
    let folder = match path.parent() {
        // "trace_view.json" alone has the empty parent.
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let path = folder.join(path.file_name().unwrap_or_default());
    let kind = sniff(&path)?;
    if kind == Some(FileKind::Dump) {
        return Ok(Profile::Dump(path));
    }
    let all = within(folder)?;
    let holds = |profile: &Profile| match profile {
        Profile::Text(files) => files.timelines.contains(&path),
        Profile::Database(files) => files.database == path,
        Profile::Dump(_) => false,
    };
    if let Some(index) = all.iter().position(holds) {
        let mut profile = all.into_iter().nth(index);
        // One iteration, if one is named.
        if let Some(Profile::Text(files)) = &mut profile {
            files.timelines.retain(|part| *part == path);
        }
        return profile.ok_or_else(|| no_profile(&path));
    }
    match kind {
        Some(FileKind::Timeline) => {
            let found = scan(folder)?;
            let text = Text::new(folder, &found, TextSource::Timeline, vec![path]);
            Ok(Profile::Text(text.files()))
        }
        Some(FileKind::Database) => Ok(database(folder, path)),
        // A table beside a timeline stands for the whole.
        Some(FileKind::KernelTable | FileKind::TaskTime | FileKind::StepTrace)
        | Some(FileKind::Communication) => {
            let first = all
                .into_iter()
                .find(|profile| !matches!(profile, Profile::Dump(_) | Profile::Database(_)));
            first.ok_or_else(|| no_profile(&path))
        }
        _ => Err(no_profile(&path)),
    }
}

fn no_profile(path: &Path) -> TraceError {
    TraceError::NoProfile {
        path: path.to_owned(),
        reason: "it is neither a timeline nor a database nor a kernel table; name the folder that the profiler wrote".to_owned(),
    }
}

/// The profiles whose files lie in `folder`. Several views of one run are one
/// profile: the torch_npu timeline, else the database, else the msprof timeline.
fn within(folder: &Path) -> Result<Vec<Profile>, TraceError> {
    let found = scan(folder)?;
    let paths = |keep: &dyn Fn(&Found) -> bool| -> Vec<PathBuf> {
        let kept = found.iter().filter(|file| keep(file));
        kept.map(|file| file.path.clone()).collect()
    };
    let timeline = |keep: &dyn Fn(&str) -> bool| {
        paths(&|file| file.kind == FileKind::Timeline && keep(&file.name))
    };
    let text = |source, timelines| {
        let text = Text::new(folder, &found, source, timelines);
        Profile::Text(text.files())
    };

    let torch = timeline(&|name| name == "trace_view.json");
    if !torch.is_empty() {
        return Ok(vec![text(TextSource::TorchNpu, torch)]);
    }
    let databases = paths(&|file| file.kind == FileKind::Database && !is_analysis(&file.name));
    if !databases.is_empty() {
        let all = databases.into_iter().map(|path| database(folder, path));
        return Ok(all.collect());
    }
    let iterations = iterations(&found);
    if !iterations.is_empty() {
        let all = iterations.into_iter();
        return Ok(all
            .map(|parts| text(TextSource::MindSpore, parts))
            .collect());
    }
    let msprof = timeline(&|name| name.starts_with("msprof_"));
    if !msprof.is_empty() {
        // Slices are parts of one; otherwise each export wrote all anew.
        let (slices, mut whole): (Vec<_>, Vec<_>) = msprof.into_iter().partition(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("msprof_slice_"))
        });
        let parts = whole.pop().map_or(slices, |latest| vec![latest]);
        return Ok(vec![text(TextSource::Msprof, parts)]);
    }
    let others = timeline(&|_| true);
    if !others.is_empty() {
        let all = others.into_iter();
        return Ok(all
            .map(|path| text(TextSource::Timeline, vec![path]))
            .collect());
    }
    let tables = paths(&|file| matches!(file.kind, FileKind::KernelTable | FileKind::TaskTime));
    if !tables.is_empty() {
        return Ok(vec![text(TextSource::Tables, Vec::new())]);
    }
    Ok(paths(&|file| file.kind == FileKind::Dump)
        .into_iter()
        .map(Profile::Dump)
        .collect())
}

/// Derived databases, which hold no tasks.
fn is_analysis(name: &str) -> bool {
    name.contains("analysis") || name.contains("analyzer")
}

/// MindSpore's timelines by device and model: `msprof_DEVICE_MODEL_ITERATION.json`.
/// Those of HCCL, of tasks and of steps repeat them; they are read where there
/// is nothing else.
fn iterations(found: &[Found]) -> Vec<Vec<PathBuf>> {
    let numbered = |prefix: &str, file: &Found| -> Option<[u32; 2]> {
        let rest = file.name.strip_prefix(prefix)?.strip_suffix(".json")?;
        let numbers: Option<Vec<u32>> = rest.split('_').map(|n| n.parse().ok()).collect();
        match numbers?.as_slice() {
            [device, model, _] => Some([*device, *model]),
            _ => None,
        }
    };
    let grouped = |prefixes: &[&str]| {
        let mut groups = std::collections::BTreeMap::<[u32; 2], Vec<PathBuf>>::new();
        for file in found {
            let group = prefixes.iter().find_map(|prefix| numbered(prefix, file));
            if let (Some(group), FileKind::Timeline) = (group, file.kind) {
                groups.entry(group).or_default().push(file.path.clone());
            }
        }
        groups.into_values().collect::<Vec<_>>()
    };
    let whole = grouped(&["msprof_"]);
    if whole.is_empty() {
        return grouped(&["task_time_", "hccl_", "step_trace_"]);
    }
    whole
}

fn database(folder: &Path, database: PathBuf) -> Profile {
    let analysis = folder.join("analysis.db");
    let stem = database.file_name().and_then(|name| name.to_str());
    let stem = stem
        .map(plain_name)
        .and_then(|name| name.strip_suffix(".db"));
    let rank = stem.and_then(|stem| stem.strip_prefix("ascend_pytorch_profiler_"));
    Profile::Database(DatabaseFiles {
        analysis: Some(analysis).filter(|path| path.is_file()),
        info: info(folder, rank),
        database,
    })
}

/// The settings beside `folder`'s export; those of `rank` if there are several.
fn info(folder: &Path, rank: Option<&str>) -> Option<PathBuf> {
    let named = rank.map(|rank| format!("profiler_info_{rank}.json"));
    let of_rank = named.and_then(|named| beside(folder, &|name| name == named));
    of_rank.or_else(|| beside(folder, &is_info))
}

/// The first file that passes `test` in the folder above `folder`, or in it.
fn beside(folder: &Path, test: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
    let roots = [folder.parent(), Some(folder)];
    roots.into_iter().flatten().find_map(|root| {
        let root = if root.as_os_str().is_empty() {
            Path::new(".")
        } else {
            root
        };
        let entries = std::fs::read_dir(root).ok()?;
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|file| {
                let name = file.file_name().and_then(|name| name.to_str());
                name.is_some_and(|name| test(plain_name(name)))
            })
            .collect();
        files.sort_by_key(|file| natural(file));
        files.into_iter().next()
    })
}

/// Whether a file name is `profiler_info.json` or `profiler_info_RANK.json`.
fn is_info(name: &str) -> bool {
    let middle = name
        .strip_prefix("profiler_info")
        .and_then(|rest| rest.strip_suffix(".json"));
    middle.is_some_and(|middle| {
        middle.is_empty()
            || middle
                .strip_prefix('_')
                .is_some_and(|rank| rank.parse::<u32>().is_ok())
    })
}

/// A text export being put together.
struct Text<'a> {
    folder: &'a Path,
    found: &'a [Found],
    source: TextSource,
    timelines: Vec<PathBuf>,
}

impl<'a> Text<'a> {
    fn new(
        folder: &'a Path,
        found: &'a [Found],
        source: TextSource,
        timelines: Vec<PathBuf>,
    ) -> Self {
        Self {
            folder,
            found,
            source,
            timelines,
        }
    }

    /// The latest file of a kind: exports are dated.
    fn latest(&self, kind: FileKind) -> Option<PathBuf> {
        let mut files = self.found.iter().rev().filter(|file| file.kind == kind);
        files.next().map(|file| file.path.clone())
    }

    fn files(self) -> TextFiles {
        let timelines = self
            .found
            .iter()
            .filter(|file| file.kind == FileKind::Timeline);
        // Of several captures in one folder, whose tables these are is unknown.
        let owns_tables = match self.source {
            TextSource::MindSpore => false,
            TextSource::Timeline => timelines.count() == 1,
            _ => true,
        };
        let table = |kind| self.latest(kind).filter(|_| owns_tables);
        let info = match self.source {
            TextSource::MindSpore => beside(self.folder, &is_mindspore_info),
            _ => info(self.folder, None),
        };
        // kernel_details.csv is the fuller of the two.
        let details = self
            .found
            .iter()
            .find(|file| file.name == "kernel_details.csv");
        let kernel_table = details.map(|file| file.path.clone());
        TextFiles {
            kernel_table: kernel_table
                .filter(|_| owns_tables)
                .or_else(|| table(FileKind::KernelTable)),
            task_time: table(FileKind::TaskTime),
            communication: table(FileKind::Communication),
            step_trace: table(FileKind::StepTrace),
            info,
            metadata: beside(self.folder, &|name| name == "profiler_metadata.json"),
            source: self.source,
            timelines: self.timelines,
        }
    }
}

/// Whether a file name is MindSpore's `info.json.DEVICE`.
fn is_mindspore_info(name: &str) -> bool {
    let device = name.strip_prefix("info.json.");
    device.is_some_and(|device| device.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_files_are_told_from_others() {
        assert!(is_info("profiler_info.json") && is_info("profiler_info_12.json"));
        assert!(!is_info("profiler_info_x.json") && !is_info("profiler_metadata.json"));
        assert!(is_mindspore_info("info.json.0") && !is_mindspore_info("info.json"));
    }
}
