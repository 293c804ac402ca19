//! One simulated step in full: every row of every lane, with its facts, the links between rows, and
//! the critical path. What reports draw and exports write.

use std::collections::HashMap;

use ascsim_schedules::flat::{Binding, Flat, Instance, InstanceId, Role};
use ascsim_schedules::{HostKind, Op, OpKind, Schedule};
use ascsim_sim::{Compiled, CriticalPath, Options, Part, Segment, TimeField, Timeline};
use smol_str::SmolStr;

use crate::result::Side;
use crate::side::{Ready, StudyError, ns};

/// Number of a text of a [`StepTimeline`].
pub type TextId = u32;

/// Every row of one simulated step. Times are whole ns from the start of the step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepTimeline {
    /// Texts that rows name by number; the first one is empty.
    pub texts: Vec<SmolStr>,
    /// Lanes, by rank; of one rank, streams come before host threads.
    pub lanes: Vec<Lane>,
    /// Rows, by lane and then start. The rows of a lane do not overlap.
    pub rows: Vec<Row>,
    /// Links between rows, by the row they lead to.
    pub links: Vec<Link>,
    /// The critical path in the order of time.
    pub path: Vec<Stretch>,
}

/// A stream, or a host thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The rank.
    pub rank: u32,
    /// The name of the stream or thread.
    pub name: String,
    /// What it is.
    pub kind: LaneKind,
}

/// What a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneKind {
    /// The tasks of a stream.
    Stream,
    /// The parts of the groups and super kernels of a stream; parts that run side by side have
    /// several lanes.
    Parts,
    /// The calls of a host thread.
    Thread,
}

/// A task on a stream, or a call on a host thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Index of its lane.
    pub lane: u32,
    /// The op's path.
    pub op: TextId,
    /// What people call it: the operator type of a kernel, the kind of a collective, ….
    pub name: TextId,
    /// `kernel`, `collective`, `copy`, `wait`, … as in a schedule; `call` for a call that issues a
    /// task.
    pub kind: TextId,
    /// Its tags, `layer=12 module=moe`.
    pub tags: TextId,
    /// The cores that it takes, `24 AIC + 48 AIV`.
    pub cores: TextId,
    /// Where its duration comes from, with the note.
    pub provenance: TextId,
    /// Its communication or copy: kind, communicator, bytes.
    pub moves: TextId,
    /// Start in ns.
    pub start_ns: i64,
    /// End in ns.
    pub end_ns: i64,
    /// When its call was made; as `start_ns` where no call issues it.
    pub issued_ns: i64,
    /// When it had everything it needs but cores; as `start_ns` for calls.
    pub ready_ns: i64,
    /// How long the delay is that the schedule states before it, ns.
    pub delay_ns: i64,
    /// How much of it lies on the critical path, ns.
    pub critical_ns: i64,
    /// The engines it uses: a sum of [`Row::AIC`], [`Row::AIV`], [`Row::AICPU`], [`Row::SDMA`] and
    /// [`Row::LINK`].
    pub engines: u8,
}

impl Row {
    /// Cube cores.
    pub const AIC: u8 = 1;
    /// Vector cores.
    pub const AIV: u8 = 2;
    /// The AICPU.
    pub const AICPU: u8 = 4;
    /// The copy engine.
    pub const SDMA: u8 = 8;
    /// Links to other ranks.
    pub const LINK: u8 = 16;

    /// Its length in ns.
    pub fn len_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }
}

/// What led from one row to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// Index of the row it leads to.
    pub to: u32,
    /// Index of the row it comes from.
    pub from: u32,
    /// What it is.
    pub kind: LinkKind,
}

/// What a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// From the call to the task that it issues.
    Launch,
    /// From the record of an event to a wait for it.
    Event,
    /// From the record of a notify to the wait that it wakes.
    Notify,
    /// From a write of a word to the wait that it meets.
    Value,
    /// From the member of a collective that starts last to the others.
    Collective,
}

impl LinkKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Launch,
        Self::Event,
        Self::Notify,
        Self::Value,
        Self::Collective,
    ];

    /// Its name, for people and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Event => "event",
            Self::Notify => "notify",
            Self::Value => "value",
            Self::Collective => "collective",
        }
    }
}

/// A stretch of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The lane it is drawn on.
    pub lane: u32,
    /// The op's path.
    pub op: TextId,
    /// What it was spent on.
    pub category: TextId,
    /// Start in ns.
    pub start_ns: i64,
    /// End in ns.
    pub end_ns: i64,
}

impl StepTimeline {
    /// Simulates `schedule` once with nominal times, and keeps everything.
    ///
    /// # Errors
    /// If it cannot be simulated, or hangs.
    ///
    /// # Complexity
    /// That of the simulation, and O(n log n) in the instances.
    pub fn new(schedule: &Schedule, options: &Options) -> Result<Self, StudyError> {
        let ready = Ready::new(schedule, options)?;
        let timeline = ready.run(options)?.map_err(StudyError::HangsBefore)?;
        let times = ready.compiled.times();
        let path = CriticalPath::new(&ready.compiled, options, times, &timeline);
        Ok(Collector::new(&ready.flat, &ready.compiled, &timeline).collect(&path))
    }

    /// What a result keeps of a simulated schedule: tasks that take time, and the longest stretches
    /// of the critical path; no names, tags, links or host threads.
    ///
    /// # Complexity
    /// O(n log n) in the tasks; O(n × depth) where tasks of a stream overlap.
    pub fn of_side(side: &Side) -> Self {
        // A file may hold anything; beyond 52 days nothing is a step.
        let time = |ns: i64| ns.clamp(0, 1 << 52);
        let mut texts = Texts::default();
        let mut step = Self::default();
        let mut inside: HashMap<(u32, &str), Vec<(i64, i64)>> = HashMap::new();
        for entry in &side.critical_path {
            let start = time(entry.start_ns);
            let stretch = (start, time(start.saturating_add(entry.ns.max(0))));
            let stretches = inside.entry((entry.rank, &entry.op)).or_default();
            stretches.push(stretch);
        }
        for line in &side.streams {
            let mut tasks: Vec<_> = line
                .tasks
                .iter()
                .map(|task| (time(task.start_ns), time(task.end_ns), task))
                .collect();
            tasks.sort_by_key(|(start, end, _)| (*start, *end));
            // Parts run side by side; each goes to the first lane that is free.
            let mut lanes: Vec<(i64, Vec<Row>)> = vec![(0, Vec::new())];
            for (start_ns, end_ns, task) in tasks {
                let end_ns = end_ns.max(start_ns);
                let on_path = inside.get(&(line.rank, task.op.as_str()));
                let critical = on_path.into_iter().flatten();
                let critical =
                    critical.map(|(from, to)| ((*to).min(end_ns) - (*from).max(start_ns)).max(0));
                let row = Row {
                    op: texts.id(&task.op),
                    name: texts.id(task.op.rsplit('/').next().unwrap_or_default()),
                    kind: texts.id(&task.kind),
                    start_ns,
                    end_ns,
                    issued_ns: start_ns,
                    ready_ns: start_ns,
                    critical_ns: critical.sum::<i64>().min(end_ns - start_ns),
                    ..Row::default()
                };
                match lanes.iter_mut().find(|(free, _)| *free <= start_ns) {
                    Some((free, rows)) => {
                        *free = end_ns;
                        rows.push(row);
                    }
                    None => lanes.push((end_ns, vec![row])),
                }
            }
            for (nth, (_, rows)) in lanes.into_iter().enumerate() {
                let lane = step.lanes.len() as u32;
                step.lanes.push(Lane {
                    rank: line.rank,
                    name: match nth {
                        0 => line.stream.clone(),
                        1 => format!("{} parts", line.stream),
                        _ => format!("{} parts {nth}", line.stream),
                    },
                    kind: match nth {
                        0 => LaneKind::Stream,
                        _ => LaneKind::Parts,
                    },
                });
                step.rows
                    .extend(rows.into_iter().map(|row| Row { lane, ..row }));
            }
        }
        let mut row_of: HashMap<(u32, TextId), usize> = HashMap::new();
        for (at, row) in step.rows.iter().enumerate() {
            let rank = step.lanes[row.lane as usize].rank;
            row_of.entry((rank, row.op)).or_insert(at);
        }
        for entry in &side.critical_path {
            let row = row_of.get(&(entry.rank, texts.id(&entry.op)));
            if let Some(row) = row.map(|at| step.rows[*at]) {
                let start_ns = time(entry.start_ns);
                step.path.push(Stretch {
                    lane: row.lane,
                    op: row.op,
                    category: texts.id(&entry.category),
                    start_ns,
                    end_ns: time(start_ns.saturating_add(entry.ns.max(0))),
                });
            }
        }
        step.path
            .sort_by_key(|stretch| (stretch.start_ns, stretch.end_ns));
        step.texts = texts.list;
        step
    }

    /// The lanes, rows, links and path of one rank.
    ///
    /// # Complexity
    /// O(rows + links).
    pub fn of_rank(&self, rank: u32) -> Self {
        let mut lanes = vec![None; self.lanes.len()];
        let mut step = Self {
            texts: self.texts.clone(),
            ..Self::default()
        };
        for (at, lane) in self.lanes.iter().enumerate() {
            if lane.rank == rank {
                lanes[at] = Some(step.lanes.len() as u32);
                step.lanes.push(lane.clone());
            }
        }
        let mut rows = vec![None; self.rows.len()];
        for (at, row) in self.rows.iter().enumerate() {
            if let Some(lane) = lanes[row.lane as usize] {
                rows[at] = Some(step.rows.len() as u32);
                step.rows.push(Row { lane, ..*row });
            }
        }
        for link in &self.links {
            if let (Some(from), Some(to)) = (rows[link.from as usize], rows[link.to as usize]) {
                let kind = link.kind;
                step.links.push(Link { to, from, kind });
            }
        }
        for stretch in &self.path {
            if let Some(lane) = lanes[stretch.lane as usize] {
                step.path.push(Stretch { lane, ..*stretch });
            }
        }
        step
    }

    /// A text by its number; empty if there is none.
    pub fn text(&self, id: TextId) -> &str {
        self.texts.get(id as usize).map_or("", SmolStr::as_str)
    }

    /// The rows of a lane as a range of indices.
    ///
    /// # Complexity
    /// O(log n) in the rows.
    pub fn rows_of(&self, lane: u32) -> std::ops::Range<usize> {
        let from = self.rows.partition_point(|row| row.lane < lane);
        let to = self.rows.partition_point(|row| row.lane <= lane);
        from..to
    }

    /// From the first start to the last end of all rows, in ns; `None` without rows.
    pub fn span(&self) -> Option<(i64, i64)> {
        let start = self.rows.iter().map(|row| row.start_ns).min()?;
        let end = self.rows.iter().map(|row| row.end_ns).max()?;
        Some((start, end))
    }
}

/// Texts, each kept once, in the order in which they were seen.
struct Texts {
    list: Vec<SmolStr>,
    by_text: HashMap<SmolStr, TextId>,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            list: vec![SmolStr::default()],
            by_text: HashMap::from([(SmolStr::default(), 0)]),
        }
    }
}

impl Texts {
    fn id(&mut self, text: &str) -> TextId {
        if let Some(id) = self.by_text.get(text) {
            return *id;
        }
        let id = self.list.len() as u32;
        self.list.push(text.into());
        self.by_text.insert(text.into(), id);
        id
    }
}

/// Which lane a row is on, before lanes have numbers: rank, what, which one, and which of several.
type LaneKey = (u32, LaneKind, usize, usize);

struct Collector<'a> {
    flat: &'a Flat<'a>,
    compiled: &'a Compiled,
    timeline: &'a Timeline,
    texts: Texts,
    rows: Vec<(LaneKey, u32, Row)>,
}

impl<'a> Collector<'a> {
    fn new(flat: &'a Flat<'a>, compiled: &'a Compiled, timeline: &'a Timeline) -> Self {
        Self {
            flat,
            compiled,
            timeline,
            texts: Texts::default(),
            rows: Vec::new(),
        }
    }

    fn collect(mut self, path: &CriticalPath) -> StepTimeline {
        for id in self.flat.ids() {
            self.instance(id);
        }
        self.spread_parts();
        self.rows
            .sort_by_key(|(lane, instance, row)| (*lane, row.start_ns, row.end_ns, *instance));
        let mut step = StepTimeline::default();
        let mut by_key: HashMap<LaneKey, u32> = HashMap::new();
        // The rows of each instance: its task, and its call.
        let mut tasks = vec![u32::MAX; self.flat.instances().len()];
        let mut calls = tasks.clone();
        for (key, instance, mut row) in std::mem::take(&mut self.rows) {
            let lane = *by_key.entry(key).or_insert_with(|| {
                step.lanes.push(self.lane(key));
                step.lanes.len() as u32 - 1
            });
            row.lane = lane;
            let rows = match key.1 {
                LaneKind::Thread => &mut calls,
                LaneKind::Stream | LaneKind::Parts => &mut tasks,
            };
            rows[instance as usize] = step.rows.len() as u32;
            step.rows.push(row);
        }
        self.links(&tasks, &calls, &mut step.links);
        for segment in &path.segments {
            self.stretch(segment, &tasks, &calls, &mut step);
        }
        step.texts = self.texts.list;
        step
    }

    fn lane(&self, (rank, kind, which, nth): LaneKey) -> Lane {
        let name = match kind {
            LaneKind::Thread => self.flat.thread(thread_id(which)).1.to_owned(),
            LaneKind::Stream | LaneKind::Parts => {
                let info = self.flat.stream(stream_id(which));
                let name = info.stream.name.as_str();
                let name = info.graph.map_or_else(
                    || name.to_owned(),
                    |graph| format!("{}/{name}", self.flat.graph(graph).1.name),
                );
                match (kind, nth) {
                    (LaneKind::Parts, 0) => format!("{name} parts"),
                    (LaneKind::Parts, nth) => format!("{name} parts {}", nth + 1),
                    _ => name,
                }
            }
        };
        Lane { rank, name, kind }
    }

    /// The rows of one instance.
    fn instance(&mut self, id: InstanceId) {
        let (at, number) = (id.index(), id.index() as u32);
        let instance = self.flat[id];
        let (start, end) = (self.timeline.start[at], self.timeline.end[at]);
        let issued = self.timeline.issued[at];
        let time = |field| self.compiled.times().get(field, number).unwrap_or(0);
        let is_task = self.compiled.has_task(number);
        let thread = (instance.rank, LaneKind::Thread, instance.thread.index(), 0);
        let call = time(TimeField::Issue);
        if is_task && instance.role == Role::Issued && call > 0 && issued != u64::MAX {
            let mut row = self.row(id, &instance);
            row.kind = self.texts.id("call");
            (row.start_ns, row.end_ns) = (ns(issued - call), ns(issued));
            (row.issued_ns, row.ready_ns) = (row.start_ns, row.start_ns);
            (row.engines, row.cores, row.provenance, row.moves) = (0, 0, 0, 0);
            self.rows.push((thread, number, row));
        }
        if end == u64::MAX || start == u64::MAX {
            return;
        }
        if !is_task {
            if end > start {
                let mut row = self.row(id, &instance);
                (row.start_ns, row.end_ns) = (ns(start), ns(end));
                (row.issued_ns, row.ready_ns) = (row.start_ns, row.start_ns);
                row.delay_ns = ns(time(TimeField::Delay));
                self.rows.push((thread, number, row));
            }
            return;
        }
        let Some(stream) = instance.stream.filter(|_| self.timeline.was_queued(number)) else {
            return;
        };
        let mut row = self.row(id, &instance);
        (row.start_ns, row.end_ns) = (ns(start), ns(end));
        row.ready_ns = ns(self.timeline.ready[at].min(start));
        row.issued_ns = match instance.role {
            Role::Issued => ns(issued.min(start)),
            Role::Replayed | Role::Part => row.start_ns,
        };
        row.delay_ns = ns(time(TimeField::Delay));
        let kind = match instance.role {
            Role::Part => LaneKind::Parts,
            Role::Issued | Role::Replayed => LaneKind::Stream,
        };
        let lane = (instance.rank, kind, stream.index(), 0);
        self.rows.push((lane, number, row));
    }

    /// A row of an instance without its times.
    fn row(&mut self, id: InstanceId, instance: &Instance<'_>) -> Row {
        let op = instance.op;
        let texts = &mut self.texts;
        let tags: Vec<String> = op.tags.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let (cores, engines) = cores(op);
        Row {
            op: texts.id(&self.flat.path(id)),
            name: texts.id(name(op)),
            kind: texts.id(op.kind.name()),
            tags: texts.id(&tags.join(" ")),
            cores: texts.id(&cores),
            provenance: texts.id(&provenance(instance)),
            moves: texts.id(&moves(instance)),
            engines,
            ..Row::default()
        }
    }

    /// Puts parts that run side by side on lanes of their own: each on the first that is free.
    fn spread_parts(&mut self) {
        let is_part = |key: &LaneKey| key.1 == LaneKind::Parts;
        let mut parts: Vec<usize> = (0..self.rows.len())
            .filter(|at| is_part(&self.rows[*at].0))
            .collect();
        parts.sort_by_key(|at| {
            let (key, instance, row) = &self.rows[*at];
            (*key, row.start_ns, *instance)
        });
        let mut free: Vec<i64> = Vec::new();
        let mut last = None;
        for at in parts {
            let (key, _, row) = &mut self.rows[at];
            if last != Some(*key) {
                last = Some(*key);
                free.clear();
            }
            let lane = free.iter().position(|until| *until <= row.start_ns);
            let lane = lane.unwrap_or_else(|| {
                free.push(0);
                free.len() - 1
            });
            free[lane] = row.end_ns;
            key.3 = lane;
        }
    }

    fn links(&self, tasks: &[u32], calls: &[u32], links: &mut Vec<Link>) {
        let mut add = |from: u32, to: u32, kind| {
            if from != u32::MAX && to != u32::MAX && from != to {
                links.push(Link { to, from, kind });
            }
        };
        for id in self.flat.ids() {
            let at = id.index();
            add(calls[at], tasks[at], LinkKind::Launch);
            let is_wait = matches!(self.flat[id].op.kind, OpKind::Wait(_));
            if let Some(Binding::Record(record)) = self.flat.binding(id)
                && is_wait
            {
                add(tasks[record.index()], tasks[at], LinkKind::Event);
            }
            let by = self.timeline.released_by[at] as usize;
            if let Some(from) = tasks.get(by) {
                let kind = match self.flat[id].op.kind {
                    OpKind::NotifyWait(_) => LinkKind::Notify,
                    OpKind::ValueWait(_) => LinkKind::Value,
                    _ => LinkKind::Event,
                };
                add(*from, tasks[at], kind);
            }
        }
        for collective in self.flat.collectives() {
            let members = collective.members();
            let start = |id: &InstanceId| self.timeline.start[id.index()];
            // The first of those that start last.
            let last = members.iter().rev().max_by_key(|id| start(id));
            for member in members {
                if let Some(last) = last {
                    let (from, to) = (tasks[last.index()], tasks[member.index()]);
                    add(from, to, LinkKind::Collective);
                }
            }
        }
        links.sort_unstable();
    }

    fn stretch(
        &mut self,
        segment: &Segment,
        tasks: &[u32],
        calls: &[u32],
        step: &mut StepTimeline,
    ) {
        let at = segment.instance as usize;
        let on_thread = segment.part == Part::Call || tasks[at] == u32::MAX;
        let row = if on_thread { calls[at] } else { tasks[at] };
        let Some(row) = step.rows.get_mut(row as usize) else {
            return;
        };
        let (start_ns, end_ns) = (ns(segment.from), ns(segment.to));
        if end_ns <= start_ns {
            return;
        }
        if matches!(segment.part, Part::Task | Part::Call) {
            row.critical_ns += end_ns - start_ns;
        }
        step.path.push(Stretch {
            lane: row.lane,
            op: row.op,
            category: self.texts.id(segment.category.name()),
            start_ns,
            end_ns,
        });
    }
}

fn thread_id(index: usize) -> ascsim_schedules::flat::ThreadId {
    ascsim_schedules::flat::ThreadId::new(index)
}

fn stream_id(index: usize) -> ascsim_schedules::flat::StreamId {
    ascsim_schedules::flat::StreamId::new(index)
}

/// What people call an op.
fn name(op: &Op) -> &str {
    match &op.kind {
        OpKind::Kernel(kernel) => &kernel.name,
        OpKind::Collective(_) => op.comm.as_ref().map_or("collective", |c| c.kind.name()),
        OpKind::Host(HostKind::Function { name, .. }) => name,
        OpKind::Host(HostKind::Synchronise(_)) => "synchronise",
        OpKind::Host(HostKind::Think) => "think",
        OpKind::Record(record) => record.event.as_str(),
        OpKind::Wait(wait) => wait.event.as_str(),
        _ => op.id.as_str(),
    }
}

/// The cores an op takes as text, and its engines.
fn cores(op: &Op) -> (String, u8) {
    let mut engines = match &op.kind {
        OpKind::Copy(_) | OpKind::Prefetch(_) => Row::SDMA,
        _ => 0,
    };
    if op.comm.is_some() {
        engines |= Row::LINK;
    }
    let Some(cores) = &op.cores else {
        return (String::new(), engines);
    };
    let mut parts = Vec::new();
    for (count, engine, name) in [
        (cores.aic, Row::AIC, "AIC"),
        (cores.aiv, Row::AIV, "AIV"),
        (cores.aicpu, Row::AICPU, "AICPU"),
        (cores.sdma, Row::SDMA, "SDMA"),
    ] {
        if count > 0 {
            engines |= engine;
            parts.push(format!("{count} {name}"));
        }
    }
    (parts.join(" + "), engines)
}

fn provenance(instance: &Instance<'_>) -> String {
    use ascsim_schedules::Provenance;
    let Some(duration) = instance.duration() else {
        return String::new();
    };
    let from = match duration.from {
        Provenance::Measured => "measured",
        Provenance::Derived => "derived",
        Provenance::Stated => "stated",
        Provenance::Modelled => "modelled",
        Provenance::Assumed => "assumed",
    };
    match &duration.note {
        Some(note) => format!("{from}: {note}"),
        None => from.to_owned(),
    }
}

fn moves(instance: &Instance<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(comm) = &instance.op.comm {
        parts.push(format!("{} on {}", comm.kind.name(), comm.communicator));
    }
    if let Some(bytes) = instance.bytes() {
        parts.push(format!("{bytes} bytes"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use ascsim_schedules::library;
    use ascsim_schedules::rewrite::Change;

    use super::*;

    fn overlapped() -> Schedule {
        let schedule = library::moe_layer().expect("the example reads");
        let change = "move-to-stream:select=module=moe.shared,stream=side";
        let change = Change::parse(change).expect("it parses");
        change.apply(&schedule).expect("it applies").schedule
    }

    fn timeline() -> StepTimeline {
        StepTimeline::new(&overlapped(), &Options::default()).expect("it runs")
    }

    #[test]
    fn every_lane_is_in_order_and_without_overlap() {
        let step = timeline();
        assert_eq!(step.lanes.len(), 2, "{:?}", step.lanes);
        let mut rows = 0;
        for lane in 0..step.lanes.len() as u32 {
            let range = step.rows_of(lane);
            rows += range.len();
            for pair in step.rows[range].windows(2) {
                assert!(pair[0].end_ns <= pair[1].start_ns, "{pair:?}");
            }
        }
        assert_eq!(rows, step.rows.len());
    }

    #[test]
    fn an_event_links_its_record_with_its_wait() {
        let step = timeline();
        assert!(!step.links.is_empty());
        for link in &step.links {
            let (from, to) = (&step.rows[link.from as usize], &step.rows[link.to as usize]);
            assert_eq!(link.kind, LinkKind::Event);
            assert_eq!(
                (step.text(from.kind), step.text(to.kind)),
                ("record", "wait")
            );
            assert!(from.end_ns <= to.end_ns);
        }
    }

    #[test]
    fn the_path_covers_the_makespan_and_rows_know_their_share() {
        let step = timeline();
        let (_, end) = step.span().expect("it has rows");
        let path: i64 = step.path.iter().map(|s| s.end_ns - s.start_ns).sum();
        assert_eq!(path, end);
        let rows: i64 = step.rows.iter().map(|row| row.critical_ns).sum();
        assert!(rows > 0 && rows <= path, "{rows} of {path}");
    }

    #[test]
    fn a_side_keeps_the_tasks_that_take_time() {
        let schedule = overlapped();
        let options = Options::default();
        let side = crate::simulate(&schedule, &options, ascsim_sim::Origin::Host).expect("it runs");
        let (short, full) = (StepTimeline::of_side(&side), timeline());
        let long = |step: &StepTimeline| {
            let rows = step.rows.iter().filter(|row| row.len_ns() > 0);
            let mut rows: Vec<_> = rows
                .map(|row| (row.start_ns, row.end_ns, step.text(row.op).to_owned()))
                .collect();
            rows.sort();
            rows
        };
        assert_eq!(long(&short), long(&full));
    }
}
