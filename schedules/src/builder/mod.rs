//! Schedules in code.
//!
//! ```
//! use ascsim_schedules::builder::*;
//!
//! let schedule = ScheduleBuilder::new("two streams")
//!     .program(
//!         "main",
//!         [
//!             kernel("gate", "MatMulV3").on("main").lasting(12_000).cores(24, 0).tag("layer", "3"),
//!             record("ready").on("main"),
//!             wait("ready").on("side"),
//!             kernel("shared", "MatMulV3").on("side").lasting(20_000).cores(12, 0),
//!         ],
//!     )
//!     .ranks(0..2, "main")
//!     .build()?;
//! assert_eq!(schedule.streams.len(), 2);
//! # Ok::<(), ascsim_schedules::validate::Invalid>(())
//! ```
//!
//! Streams, events and notifies that ops name are declared by themselves, in the order in which they
//! appear; declare them only to set more than the name. Ops that were given no id get one from their
//! kind and place: `record_1`.

mod fields;
mod ops;

use std::collections::HashSet;
use std::ops::Range;

use smol_str::SmolStr;

pub use ops::*;

use crate::ir::{
    Buffer, Capture, CaptureMode, Communicator, CommunicatorName, Event, EventKind, EventName,
    Extra, HostKind, Memory, Notify, NotifyName, Op, OpId, OpKind, Owner, Program, ProgramName,
    RankGroup, Schedule, Stream, StreamName, SyncTarget, Tags, Variable,
};
use crate::validate::{Invalid, validate};

/// Collects the parts of a schedule. The [module](self) has an example.
#[derive(Clone, Debug, Default)]
pub struct ScheduleBuilder {
    schedule: Schedule,
}

impl ScheduleBuilder {
    /// An empty schedule called `name`.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            schedule: Schedule {
                name,
                ..Schedule::default()
            },
        }
    }

    /// Says what it is, for people.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.schedule.description = text.into();
        self
    }

    /// Declares a random variable.
    #[must_use]
    pub fn variable(mut self, variable: Variable) -> Self {
        self.schedule.variables.push(variable);
        self
    }

    /// Declares `bytes` bytes of HBM.
    #[must_use]
    pub fn buffer(self, name: impl Into<SmolStr>, bytes: u64) -> Self {
        self.declare_buffer(Buffer {
            name: name.into().into(),
            bytes,
            memory: Memory::Hbm,
            view: None,
            tags: Tags::default(),
            extra: Extra::default(),
        })
    }

    /// Declares a buffer or view.
    #[must_use]
    pub fn declare_buffer(mut self, buffer: Buffer) -> Self {
        self.schedule.buffers.push(buffer);
        self
    }

    /// Declares a stream that has more than a name.
    #[must_use]
    pub fn declare_stream(mut self, stream: Stream) -> Self {
        self.schedule.streams.push(stream);
        self
    }

    /// Declares an event of a kind other than `ex`.
    #[must_use]
    pub fn event(mut self, name: impl Into<SmolStr>, kind: EventKind) -> Self {
        self.schedule.events.push(Event {
            name: name.into().into(),
            kind,
            extra: Extra::default(),
        });
        self
    }

    /// Declares a communicator with these groups of ranks.
    #[must_use]
    pub fn communicator(
        self,
        name: impl Into<SmolStr>,
        groups: impl IntoIterator<Item = Vec<u32>>,
    ) -> Self {
        self.declare_communicator(Communicator {
            name: CommunicatorName::from(name.into()),
            groups: groups.into_iter().collect(),
            expansion: None,
            buffer_bytes: None,
            deterministic: false,
            extra: Extra::default(),
        })
    }

    /// Declares a communicator that has more than groups.
    #[must_use]
    pub fn declare_communicator(mut self, communicator: Communicator) -> Self {
        self.schedule.communicators.push(communicator);
        self
    }

    /// Adds a program with these ops in host issue order.
    #[must_use]
    pub fn program(mut self, name: impl Into<SmolStr>, ops: impl IntoIterator<Item = Op>) -> Self {
        self.schedule.programs.push(Program {
            name: name.into().into(),
            capture: None,
            ops: with_ids(ops),
            extra: Extra::default(),
        });
        self
    }

    /// Adds a program that is captured, beginning and ending on the stream `origin`.
    #[must_use]
    pub fn captured(
        self,
        name: impl Into<SmolStr>,
        origin: impl Into<SmolStr>,
        ops: impl IntoIterator<Item = Op>,
    ) -> Self {
        let mut builder = self.program(name, ops);
        if let Some(program) = builder.schedule.programs.last_mut() {
            program.capture = Some(Capture {
                origin: origin.into().into(),
                mode: CaptureMode::Global,
                size: None,
                extra: Extra::default(),
            });
        }
        builder
    }

    /// Lets `ranks` run `program`, on the dies that their numbers say.
    #[must_use]
    pub fn ranks(self, ranks: Range<u32>, program: impl Into<SmolStr>) -> Self {
        self.group(ranks, Some(program.into().into()))
    }

    /// Adds ranks whose program is unknown.
    #[must_use]
    pub fn external(self, ranks: Range<u32>) -> Self {
        self.group(ranks, None)
    }

    fn group(self, ranks: Range<u32>, program: Option<ProgramName>) -> Self {
        self.rank_group(RankGroup {
            first: ranks.start,
            count: ranks.end.saturating_sub(ranks.start),
            program,
            devices: Vec::new(),
            overrides: Vec::new(),
            extra: Extra::default(),
        })
    }

    /// Adds ranks with devices or overrides.
    #[must_use]
    pub fn rank_group(mut self, group: RankGroup) -> Self {
        self.schedule.ranks.push(group);
        self
    }

    /// The schedule.
    ///
    /// # Errors
    /// If it does not [`validate`].
    pub fn build(self) -> Result<Schedule, Invalid> {
        let schedule = self.build_unchecked();
        validate(&schedule)?;
        Ok(schedule)
    }

    /// The schedule, whether it is valid or not: for tests of what must be refused.
    pub fn build_unchecked(self) -> Schedule {
        let mut schedule = self.schedule;
        declare_what_is_named(&mut schedule);
        schedule
    }
}

/// Gives an id to every op that has none: its kind and its place, and as many underscores as it takes
/// to be unique.
fn with_ids(ops: impl IntoIterator<Item = Op>) -> Vec<Op> {
    let mut ops: Vec<Op> = ops.into_iter().collect();
    let mut taken: HashSet<OpId> = ops.iter().map(|op| op.id.clone()).collect();
    for (index, op) in ops.iter_mut().enumerate() {
        if op.id.as_str().is_empty() {
            let mut id = format!("{}_{index}", op.kind.name());
            while taken.contains(id.as_str()) {
                id.push('_');
            }
            op.id = id.into();
            taken.insert(op.id.clone());
        }
    }
    ops
}

/// What the ops of a schedule name, in the order of first use.
#[derive(Debug, Default)]
struct Named {
    streams: Vec<StreamName>,
    /// With whether an outside record makes it an `external` one.
    events: Vec<(EventName, bool)>,
    notifies: Vec<NotifyName>,
}

impl Named {
    fn visit(&mut self, op: &Op) {
        self.streams.extend(op.stream.clone());
        match &op.kind {
            OpKind::Record(record) | OpKind::EventReset(record) => {
                self.events.push((record.event.clone(), false));
            }
            OpKind::Wait(wait) => self.events.push((wait.event.clone(), false)),
            OpKind::NotifyRecord(record) => self.notifies.push(record.notify.clone()),
            OpKind::NotifyWait(wait) => self.notifies.push(wait.notify.clone()),
            OpKind::Host(HostKind::RecordExternal { event }) => {
                self.events.push((event.clone(), true));
            }
            OpKind::Host(HostKind::Synchronise(SyncTarget::Event(event))) => {
                self.events.push((event.clone(), false));
            }
            OpKind::Host(HostKind::Synchronise(SyncTarget::Stream(stream))) => {
                self.streams.push(stream.clone());
            }
            _ => {}
        }
        for task in op.kind.tasks() {
            self.visit(&task.op);
        }
    }
}

fn declare_what_is_named(schedule: &mut Schedule) {
    let mut named = Named::default();
    for program in &schedule.programs {
        let origin = program.capture.as_ref();
        named
            .streams
            .extend(origin.map(|capture| capture.origin.clone()));
        program.ops.iter().for_each(|op| named.visit(op));
    }
    let external: HashSet<EventName> = named
        .events
        .iter()
        .filter(|(_, external)| *external)
        .map(|(name, _)| name.clone())
        .collect();
    let extra = Extra::default;

    let mut known: HashSet<_> = schedule
        .streams
        .iter()
        .map(|item| item.name.clone())
        .collect();
    let new = named
        .streams
        .into_iter()
        .filter(|name| known.insert(name.clone()));
    schedule.streams.extend(new.map(|name| Stream {
        name,
        owner: Owner::Own,
        priority: None,
        core_limit: None,
        extra: extra(),
    }));
    let mut known: HashSet<_> = schedule
        .events
        .iter()
        .map(|item| item.name.clone())
        .collect();
    let names = named.events.into_iter().map(|(name, _)| name);
    let new = names.filter(|name| known.insert(name.clone()));
    schedule.events.extend(new.map(|name| Event {
        kind: match external.contains(&name) {
            true => EventKind::External,
            false => EventKind::Ex,
        },
        name,
        extra: extra(),
    }));
    let mut known: HashSet<_> = schedule
        .notifies
        .iter()
        .map(|item| item.name.clone())
        .collect();
    let new = named
        .notifies
        .into_iter()
        .filter(|name| known.insert(name.clone()));
    schedule.notifies.extend(new.map(|name| Notify {
        name,
        extra: extra(),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{CollectiveKind, Compare, CopyDirection};

    #[test]
    fn what_ops_name_is_declared_and_every_helper_makes_a_valid_op() {
        let schedule = ScheduleBuilder::new("all")
            .buffer("x", 1024)
            .communicator("tp", [vec![0, 1]])
            .event("sticky", EventKind::Sync)
            .program(
                "main",
                [
                    kernel("k", "MatMul")
                        .on("A")
                        .lasting(10)
                        .cores(24, 48)
                        .reads("x")
                        .writes("x"),
                    copy("c", CopyDirection::HostToDevice, 512)
                        .on("A")
                        .tag("phase", "decode"),
                    prefetch("p", "x", 512).on("B"),
                    collective("ar", "tp", CollectiveKind::AllReduce, 64).on("B"),
                    record("done").on("A"),
                    wait("done").on("B"),
                    reset("sticky").on("B"),
                    notify_record("n").on("A"),
                    notify_wait("n").on("B"),
                    value_write("x", 8, 1).on("A"),
                    value_wait("x", 8, 1, Compare::Geq).on("B"),
                    super_kernel("sk", "scope", [task(kernel("a", "K"))]).on("A"),
                    group(
                        "g",
                        [task(kernel("a", "K")), task(kernel("b", "K")).after("a")],
                    )
                    .on("A"),
                    record_external("outside").on("A"),
                    graph_launch("graph").on("A"),
                    task_update("graph", ["k"]).on("B"),
                    host_work(100).from_thread("worker"),
                    think(5),
                    synchronise_stream("A"),
                    synchronise_event("done"),
                    synchronise_device(),
                    host_function("f", "callback").on("A"),
                    alloc("x").on("A"),
                    stream_use("x").on("B"),
                    free("x"),
                    repeat("body", 3),
                ],
            )
            .captured("graph", "G", [kernel("k", "K").on("G")])
            .program("body", [])
            .ranks(0..2, "main")
            .external(2..3)
            .build()
            .unwrap();
        let names = |streams: &[Stream]| {
            let names = streams.iter().map(|stream| stream.name.to_string());
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&schedule.streams), "A B G");
        let kinds: Vec<_> = schedule
            .events
            .iter()
            .map(|e| (e.name.as_str(), e.kind))
            .collect();
        let expected = [
            ("sticky", EventKind::Sync),
            ("done", EventKind::Ex),
            ("outside", EventKind::External),
        ];
        assert_eq!(kinds, expected);
        assert_eq!(schedule.notifies.len(), 1);
        let ids: HashSet<_> = schedule.programs[0].ops.iter().map(|op| &op.id).collect();
        assert_eq!(ids.len(), 26);
        assert_eq!(schedule.programs[0].ops[4].id.as_str(), "record_4");
    }

    #[test]
    fn made_up_ids_do_not_clash() {
        let ops = with_ids([kernel("record_1", "K"), record("e"), record("f").id("x")]);
        let ids: Vec<_> = ops.iter().map(|op| op.id.as_str()).collect();
        assert_eq!(ids, ["record_1", "record_1_", "x"]);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let error = ScheduleBuilder::new("wrong")
            .program("main", [kernel("k", "K").on("A").reads("nothing")])
            .ranks(0..1, "main")
            .build()
            .unwrap_err();
        assert!(
            error.to_string().contains("`nothing` is not declared"),
            "{error}"
        );
    }
}
