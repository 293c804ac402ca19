//! The dump of a captured graph, `graph_debug.json`: its streams, its tasks in order, and the ids of its
//! events, which no profile has.
//!
//! Its times are placeholders. A dump beside a profile of the graph's replay is joined with it: structure and
//! event ids from the dump, times from the profile ([`Dump::join`]; [`crate::read()`] does it by itself). A
//! published dump may be cut ("elided"): task ids of a stream count up by one, so that what is missing
//! between two of them is known by its range, and links into it stay open.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::model::{Note, TaskKind};
use crate::read::dump_rows;
use crate::{Trace, TraceError};

/// Format of [`DumpReport`] as JSON.
pub const FORMAT: &str = "ascsim.graph-dump/1";

/// What a task of a graph does, with the id in its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DumpKind {
    /// `EVENT_RECORD_ID`.
    Record(u64),
    /// `EVENT_WAIT_ID`.
    Wait(u64),
    /// `EVENT_RESET_ID`: its id is of another space and pairs with nothing (facts/traces.md section 1).
    Reset(u64),
    /// `NOTIFY_RECORD_ID`.
    NotifyRecord(u64),
    /// `NOTIFY_WAIT_ID`.
    NotifyWait(u64),
    /// Anything else.
    Work,
}

impl DumpKind {
    /// The kind of a task by its name.
    pub fn of(name: &str) -> Self {
        let id = |prefix: &str| name.strip_prefix(prefix)?.parse().ok();
        None.or_else(|| id("EVENT_RECORD_").map(Self::Record))
            .or_else(|| id("EVENT_WAIT_").map(Self::Wait))
            .or_else(|| id("EVENT_RESET_").map(Self::Reset))
            .or_else(|| id("NOTIFY_RECORD_").map(Self::NotifyRecord))
            .or_else(|| id("NOTIFY_WAIT_").map(Self::NotifyWait))
            .unwrap_or(Self::Work)
    }
}

/// A task of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpTask {
    /// Its stream.
    pub stream: u32,
    /// Its id on the stream.
    pub task: u32,
    /// The graph.
    pub model: Option<u32>,
    /// Its name.
    pub name: String,
}

/// Where a task is: stream and task id.
pub type DumpPlace = (u32, u32);

/// The dump of a graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dump {
    /// By stream and task id, each place once.
    tasks: Vec<DumpTask>,
}

/// A record and a wait of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DumpPair {
    /// The event.
    pub event: u64,
    /// Stream and task id of the record.
    pub record: DumpPlace,
    /// Stream and task id of the wait.
    pub wait: DumpPlace,
}

/// Task ids of a stream that the dump does not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Elided {
    /// The stream.
    pub stream: u32,
    /// The first id that is missing.
    pub first: u32,
    /// The last one.
    pub last: u32,
}

impl Dump {
    /// A dump of tasks in any order; of several at one place the first counts.
    pub fn new(mut tasks: Vec<DumpTask>) -> Self {
        tasks.sort_by_key(|task| (task.stream, task.task));
        tasks.dedup_by_key(|task| (task.stream, task.task));
        Self { tasks }
    }

    /// Reads the dump at `path`, packed or not.
    ///
    /// # Errors
    /// A file that cannot be read or is no dump; [`TraceError::Empty`] if it lists nothing.
    ///
    /// # Complexity
    /// O(n log n) in the tasks.
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let dump = Self::new(dump_rows(path)?);
        if dump.tasks.is_empty() {
            return Err(TraceError::Empty {
                path: path.to_owned(),
            });
        }
        Ok(dump)
    }

    /// The tasks by stream and id.
    pub fn tasks(&self) -> &[DumpTask] {
        &self.tasks
    }

    /// The records and waits of events that have both, by the place of the wait. An id that several
    /// tasks record pairs with nothing: which of them is meant is not in the dump.
    pub fn pairs(&self) -> Vec<DumpPair> {
        let mut records: BTreeMap<u64, Vec<DumpPlace>> = BTreeMap::new();
        for task in &self.tasks {
            if let DumpKind::Record(event) = DumpKind::of(&task.name) {
                let places = records.entry(event).or_default();
                places.push((task.stream, task.task));
            }
        }
        let waits = self.tasks.iter().filter_map(|task| {
            let DumpKind::Wait(event) = DumpKind::of(&task.name) else {
                return None;
            };
            let [record] = records.get(&event)?.as_slice() else {
                return None;
            };
            Some(DumpPair {
                event,
                record: *record,
                wait: (task.stream, task.task),
            })
        });
        waits.collect()
    }

    /// The task ids that lie between listed ones, or before them, and are not listed.
    pub fn elided(&self) -> Vec<Elided> {
        let mut found = Vec::new();
        for tasks in self.tasks.chunk_by(|a, b| a.stream == b.stream) {
            let mut next = 0;
            for task in tasks {
                if let Some(last) = task.task.checked_sub(1).filter(|last| next <= *last) {
                    found.push(Elided {
                        stream: task.stream,
                        first: next,
                        last,
                    });
                }
                next = task.task.saturating_add(1);
            }
        }
        found
    }

    /// Whether streams and pairs of events contradict each other: then the graph could never end.
    pub fn has_cycle(&self) -> bool {
        let index = |place: DumpPlace| {
            let found = self
                .tasks
                .binary_search_by_key(&place, |t| (t.stream, t.task));
            found.ok()
        };
        let count = self.tasks.len();
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut left = vec![0_usize; count];
        let mut edge = |from: usize, to: usize| {
            after[from].push(to);
            left[to] += 1;
        };
        for (at, pair) in self.tasks.windows(2).enumerate() {
            if pair[0].stream == pair[1].stream {
                edge(at, at + 1);
            }
        }
        for pair in self.pairs() {
            if let (Some(record), Some(wait)) = (index(pair.record), index(pair.wait)) {
                edge(record, wait);
            }
        }
        let mut ready: Vec<usize> = (0..count).filter(|at| left[*at] == 0).collect();
        let mut done = 0;
        while let Some(at) = ready.pop() {
            done += 1;
            for &next in &after[at] {
                left[next] -= 1;
                if left[next] == 0 {
                    ready.push(next);
                }
            }
        }
        done < count
    }

    /// Gives the tasks of `trace` the event ids of this dump, by stream and task id, and by graph where
    /// both say which; returns how many tasks of the dump were found. A task of the trace that does
    /// another thing than that of the dump is none of it. Adds a note that says what was joined.
    ///
    /// # Complexity
    /// O(n log n).
    pub fn join(&self, trace: &mut Trace) -> usize {
        let places: BTreeMap<DumpPlace, &DumpTask> = self
            .tasks
            .iter()
            .map(|task| ((task.stream, task.task), task))
            .collect();
        let mut found = BTreeSet::new();
        for task in &mut trace.tasks {
            let place = task.task.map(|id| (task.stream, id));
            let own = place.and_then(|place| Some((place, places.get(&place)?)));
            let Some((place, own)) = own else { continue };
            let is_other = matches!((task.model, own.model), (Some(a), Some(b)) if a != b);
            let (fits, event) = match DumpKind::of(&own.name) {
                DumpKind::Record(event) => (
                    matches!(task.kind, TaskKind::EventRecord | TaskKind::PlaceHolder),
                    Some(event),
                ),
                DumpKind::Wait(event) => (task.kind == TaskKind::EventWait, Some(event)),
                DumpKind::Reset(_) => (task.kind == TaskKind::EventReset, None),
                _ => (
                    !matches!(task.kind, TaskKind::EventRecord | TaskKind::EventWait),
                    None,
                ),
            };
            if is_other || !fits {
                continue;
            }
            found.insert(place);
            if event.is_some() && task.kind == TaskKind::PlaceHolder {
                task.kind = TaskKind::EventRecord;
            }
            task.event = event;
        }
        let text = if found.is_empty() {
            "the dump of a captured graph beside this profile fits none of its tasks, and is not used"
                .to_owned()
        } else {
            let missing: u64 = self.elided().iter().map(Elided::count).sum();
            format!(
                "{} of {} tasks of the dump of a captured graph were found in this profile; event ids are \
                 from the dump, which leaves {missing} tasks out",
                found.len(),
                self.tasks.len()
            )
        };
        trace.notes.push(Note {
            code: "graph-dump",
            text,
        });
        found.len()
    }

    /// Writes the dump as `graph_debug.json` has it, with placeholder times.
    ///
    /// # Errors
    /// Of the writer.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut before = "[\n";
        for task in &self.tasks {
            let name = serde_json::to_string(&task.name)?;
            let (stream, id) = (task.stream, task.task);
            let model = task.model.unwrap_or(u32::MAX);
            write!(
                out,
                r#"{before}{{"name":{name},"pid":"1 aclGraph","tid":"stream{stream}","ts":{},"dur":9.5,"ph":"X","args":{{"Model Id":{model},"Stream Id":{stream},"Task Id":{id}}}}}"#,
                u64::from(id) * 10
            )?;
            before = ",\n";
        }
        let end = if self.tasks.is_empty() {
            "[]\n"
        } else {
            "\n]\n"
        };
        out.write_all(end.as_bytes())
    }
}

impl Elided {
    /// How many ids are missing.
    pub fn count(&self) -> u64 {
        u64::from(self.last - self.first) + 1
    }
}

/// What a dump alone tells. Serializes as JSON of format [`FORMAT`]; shows itself as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DumpReport {
    /// [`FORMAT`].
    pub format: &'static str,
    /// The path as given.
    pub path: String,
    /// Tasks listed, by stream.
    pub streams: BTreeMap<u32, usize>,
    /// Event records listed.
    pub records: usize,
    /// Event waits listed.
    pub waits: usize,
    /// Those that belong together.
    pub pairs: Vec<DumpPair>,
    /// Event ids that are waited for and whose record is not listed.
    pub waits_without_record: Vec<u64>,
    /// Event ids that are recorded and whose wait is not listed.
    pub records_without_wait: Vec<u64>,
    /// Task ids that are left out.
    pub elided: Vec<Elided>,
    /// Whether streams and pairs contradict each other.
    pub has_cycle: bool,
}

impl DumpReport {
    /// What `dump`, read from `path`, tells.
    pub fn of(path: &str, dump: &Dump) -> Self {
        let mut streams: BTreeMap<u32, usize> = BTreeMap::new();
        let (mut records, mut waits) = (Vec::new(), Vec::new());
        for task in &dump.tasks {
            *streams.entry(task.stream).or_default() += 1;
            match DumpKind::of(&task.name) {
                DumpKind::Record(event) => records.push(event),
                DumpKind::Wait(event) => waits.push(event),
                _ => {}
            }
        }
        let pairs = dump.pairs();
        let paired: BTreeSet<u64> = pairs.iter().map(|pair| pair.event).collect();
        let open = |events: &[u64]| -> Vec<u64> {
            let events = events.iter().copied();
            events.filter(|event| !paired.contains(event)).collect()
        };
        Self {
            format: FORMAT,
            path: path.to_owned(),
            streams,
            records: records.len(),
            waits: waits.len(),
            waits_without_record: open(&waits),
            records_without_wait: open(&records),
            pairs,
            elided: dump.elided(),
            has_cycle: dump.has_cycle(),
        }
    }
}

impl fmt::Display for DumpReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "dump of a captured graph: its times are placeholders; a profile of its replay beside it gives them\n"
        )?;
        writeln!(f, "streams")?;
        for (stream, tasks) in &self.streams {
            let elided: Vec<&Elided> = self.elided.iter().filter(|e| e.stream == *stream).collect();
            let missing: u64 = elided.iter().map(|elided| elided.count()).sum();
            write!(f, "  {stream}: {tasks} tasks")?;
            if missing > 0 {
                let ranges = elided.iter().map(|e| match e.first == e.last {
                    true => e.first.to_string(),
                    false => format!("{}-{}", e.first, e.last),
                });
                let ranges = ranges.collect::<Vec<_>>().join(", ");
                write!(f, "; {missing} are left out: {ranges}")?;
            }
            writeln!(f)?;
        }
        writeln!(
            f,
            "\nevents: {} records, {} waits, {} pairs; {} waits without a record, {} records without a wait",
            self.records,
            self.waits,
            self.pairs.len(),
            self.waits_without_record.len(),
            self.records_without_wait.len()
        )?;
        for pair in &self.pairs {
            writeln!(
                f,
                "  {}: stream {} task {} -> stream {} task {}",
                pair.event, pair.record.0, pair.record.1, pair.wait.0, pair.wait.1
            )?;
        }
        let cycle = if self.has_cycle {
            "streams and events contradict each other: the graph cannot end"
        } else {
            "streams and events do not contradict each other"
        };
        writeln!(f, "\n{cycle}")
    }
}
