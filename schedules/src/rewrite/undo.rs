//! Going back: what a change replaced.

use std::ops::Range;

use crate::ir::{
    Buffer, Communicator, Event, Notify, Op, Program, RankGroup, Schedule, Stream, Variable,
};

/// What turns a changed schedule into the one it was made from. It keeps only what differs, so that a
/// long list of changes can be taken back one by one without a copy of the schedule for each.
#[derive(Clone, Debug)]
pub struct Undo {
    name: String,
    description: String,
    variables: Patch<Variable>,
    buffers: Patch<Buffer>,
    streams: Patch<Stream>,
    events: Patch<Event>,
    notifies: Patch<Notify>,
    communicators: Patch<Communicator>,
    programs: Programs,
    ranks: Patch<RankGroup>,
}

#[derive(Clone, Debug)]
enum Programs {
    /// The same programs, of which only the ops differ.
    Ops(Vec<Patch<Op>>),
    /// Programs came or went.
    All(Vec<Program>),
}

/// What stood in the place of a range of a list.
#[derive(Clone, Debug)]
struct Patch<T> {
    /// Where it is in the changed list.
    now: Range<usize>,
    then: Vec<T>,
}

impl<T: Clone + PartialEq> Patch<T> {
    fn new(then: &[T], now: &[T]) -> Self {
        let head = then.iter().zip(now).take_while(|(a, b)| a == b).count();
        let tail = then[head..]
            .iter()
            .rev()
            .zip(now[head..].iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        Self {
            now: head..now.len() - tail,
            then: then[head..then.len() - tail].to_vec(),
        }
    }

    fn apply(&self, list: &mut Vec<T>) {
        let range = self.now.start.min(list.len())..self.now.end.min(list.len());
        list.splice(range, self.then.iter().cloned());
    }
}

impl Undo {
    /// What turns `now` into `then`. O(ops).
    pub fn new(then: &Schedule, now: &Schedule) -> Self {
        let same =
            then.programs.len() == now.programs.len()
                && then.programs.iter().zip(&now.programs).all(|(a, b)| {
                    (&a.name, &a.capture, &a.extra) == (&b.name, &b.capture, &b.extra)
                });
        let programs = if same {
            let pairs = then.programs.iter().zip(&now.programs);
            Programs::Ops(pairs.map(|(a, b)| Patch::new(&a.ops, &b.ops)).collect())
        } else {
            Programs::All(then.programs.clone())
        };
        Self {
            name: then.name.clone(),
            description: then.description.clone(),
            variables: Patch::new(&then.variables, &now.variables),
            buffers: Patch::new(&then.buffers, &now.buffers),
            streams: Patch::new(&then.streams, &now.streams),
            events: Patch::new(&then.events, &now.events),
            notifies: Patch::new(&then.notifies, &now.notifies),
            communicators: Patch::new(&then.communicators, &now.communicators),
            programs,
            ranks: Patch::new(&then.ranks, &now.ranks),
        }
    }

    /// The schedule before the change, from the one that the change gave. Another schedule gives
    /// something else, which need not be valid.
    pub fn apply(&self, now: &Schedule) -> Schedule {
        let mut then = now.clone();
        then.name.clone_from(&self.name);
        then.description.clone_from(&self.description);
        self.variables.apply(&mut then.variables);
        self.buffers.apply(&mut then.buffers);
        self.streams.apply(&mut then.streams);
        self.events.apply(&mut then.events);
        self.notifies.apply(&mut then.notifies);
        self.communicators.apply(&mut then.communicators);
        match &self.programs {
            Programs::All(programs) => then.programs.clone_from(programs),
            Programs::Ops(patches) => {
                for (program, patch) in then.programs.iter_mut().zip(patches) {
                    patch.apply(&mut program.ops);
                }
            }
        }
        self.ranks.apply(&mut then.ranks);
        then
    }
}
