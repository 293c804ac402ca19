//! Every state that the calls and steps of a schedule can reach.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::rc::Rc;

use super::lower::{Action, Lowered, lower};
use super::{ExploreError, Explored, Move, Options};
use crate::acl::{Effect, Machine, Reply, Step};
use crate::flat::{Flat, InstanceId};
use crate::ir::Limits;

/// One bit per instance.
type Set = u128;

#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    machine: Machine,
    /// Per thread: its next item, and how far it is in it.
    threads: Vec<(u16, Inside)>,
    started: Set,
    done: Set,
    /// Issued, but nothing was queued: they keep their place in their stream.
    dropped: Set,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The machine differs in little besides.
        (&self.threads, self.started, self.done, self.dropped).hash(state);
    }
}

/// How far a thread is in its next item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Inside {
    /// It has not made the call.
    No,
    /// The call waits for a task.
    Waiting,
    /// The call is about to return.
    Returning,
}

pub(super) fn explore(
    flat: &Flat<'_>,
    limits: &Limits,
    options: &Options,
) -> Result<Explored, ExploreError> {
    let instances = flat.instances().len();
    if instances > Explored::MAX_INSTANCES {
        return Err(ExploreError::TooManyInstances {
            instances,
            limit: Explored::MAX_INSTANCES,
        });
    }
    let lowered = lower(flat, limits)?;
    let mut search = Search {
        flat,
        lowered: &lowered,
        known: vec![Set::MAX; instances],
        ran: 0,
    };
    let start = State {
        machine: lowered.machine.clone(),
        threads: vec![(0, Inside::No); lowered.threads.len()],
        started: 0,
        done: 0,
        dropped: 0,
    };
    let all = (0..instances).fold(0, |set, index| set | bit(InstanceId::new(index)));
    let mut seen: HashSet<Rc<State>, BuildHasherDefault<Mix>> = HashSet::default();
    let start = Rc::new(start);
    // How each state was reached first: the state before it, and the move.
    let mut origins: Vec<Option<(usize, Move)>> = vec![None];
    let mut open = vec![(0, Rc::clone(&start))];
    seen.insert(start);
    let mut always = Set::MAX;
    let mut deadlock = None;
    let mut deadlocks = 0;
    while let Some((index, state)) = open.pop() {
        let next = search.next(&state);
        if next.is_empty() {
            always &= state.done;
            if state.done != all {
                deadlocks += 1;
                deadlock.get_or_insert((index, state.done));
            }
        }
        for (step, next) in next {
            let next = Rc::new(next);
            if !seen.insert(Rc::clone(&next)) {
                continue;
            }
            if seen.len() > options.max_states {
                return Err(ExploreError::TooManyStates {
                    limit: options.max_states,
                });
            }
            origins.push(Some((index, step)));
            open.push((origins.len() - 1, next));
        }
    }
    let deadlock = deadlock.map(|(mut index, done)| {
        let mut moves = Vec::new();
        while let Some((before, step)) = origins[index] {
            moves.push(step);
            index = before;
        }
        moves.reverse();
        let unfinished = flat.ids().filter(|&id| done & bit(id) == 0).collect();
        super::Deadlock { moves, unfinished }
    });
    Ok(Explored {
        known: search.known,
        ran: search.ran,
        always: always & all,
        states: seen.len(),
        deadlocks,
        deadlock,
    })
}

/// A fast hash of many small numbers; nobody picks states to make them collide.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

pub(super) fn bit(id: InstanceId) -> Set {
    1 << (id.index() % Explored::MAX_INSTANCES)
}

struct Search<'a, 's> {
    flat: &'a Flat<'s>,
    lowered: &'a Lowered,
    /// Per instance: what was done whenever it started.
    known: Vec<Set>,
    ran: Set,
}

impl Search<'_, '_> {
    fn next(&mut self, state: &State) -> Vec<(Move, State)> {
        let mut next = Vec::new();
        for thread in 0..state.threads.len() {
            if let Some((instance, mut after)) = self.host(state, thread) {
                if self.lowered.commutes[instance.index()] {
                    self.pass_dropped(&mut after);
                    return vec![(Move::Host(instance), after)];
                }
                next.push((Move::Host(instance), after));
            }
        }
        for step in state.machine.enabled() {
            let mut state = state.clone();
            if let Some(step) = self.device(&mut state, step) {
                next.push((step, state));
            }
        }
        for (_, state) in &mut next {
            self.pass_dropped(state);
        }
        next
    }

    fn host(&mut self, state: &State, thread: usize) -> Option<(InstanceId, State)> {
        let (at, inside) = state.threads[thread];
        let item = self.lowered.threads[thread].get(usize::from(at))?;
        let entered = |&(other, item): &(usize, usize)| {
            let (at, inside) = state.threads[other];
            usize::from(at) > item || (usize::from(at) == item && inside != Inside::No)
        };
        if !item.after.iter().all(entered) {
            return None;
        }
        let id = item.instance;
        let mut state = state.clone();
        let returned = (at + 1, Inside::No);
        match &item.action {
            Action::Host => {
                self.start(&mut state, id);
                state.done |= bit(id);
                state.threads[thread] = returned;
            }
            Action::Wait(_) if inside == Inside::Returning => {
                state.done |= bit(id);
                state.threads[thread] = returned;
            }
            Action::Wait(call) => {
                if inside == Inside::No {
                    self.start(&mut state, id);
                }
                // Entering and returning are two moves, since others may come in between.
                state.threads[thread].1 = match state.machine.call(thread as u32, call) {
                    Reply::Blocks if inside == Inside::Waiting => return None,
                    Reply::Blocks => Inside::Waiting,
                    _ if inside == Inside::Waiting => {
                        state.done |= bit(id);
                        state.threads[thread] = returned;
                        return Some((id, state));
                    }
                    _ => Inside::Returning,
                };
            }
            Action::Queue(call, stream) => {
                let queued = state.machine.queued(*stream);
                let tag = Some(id.index() as u32);
                match state.machine.tagged(thread as u32, call, tag) {
                    Reply::Blocks
                        if inside == Inside::No && state.machine.is_inside(thread as u32) =>
                    {
                        state.threads[thread].1 = Inside::Waiting;
                    }
                    Reply::Blocks => return None,
                    _ => {
                        if inside == Inside::No && state.machine.queued(*stream) == queued {
                            state.dropped |= bit(id);
                        }
                        state.threads[thread] = returned;
                    }
                }
            }
        }
        Some((id, state))
    }

    fn device(&mut self, state: &mut State, step: Step) -> Option<Move> {
        let mut moved = None;
        for effect in state.machine.step(step).ok()? {
            let (Effect::Started(tag) | Effect::Done(tag)) = effect;
            let id = InstanceId::new(tag as usize);
            moved = Some(Move::Device(id));
            match effect {
                Effect::Started(_) => {
                    self.start(state, id);
                    for &inner in self.lowered.dropped.get(&id).into_iter().flatten() {
                        state.dropped |= bit(inner);
                    }
                }
                Effect::Done(_) => state.done |= bit(id),
            }
        }
        moved
    }

    fn start(&mut self, state: &mut State, id: InstanceId) {
        state.started |= bit(id);
        self.known[id.index()] &= state.done;
        self.ran |= bit(id);
    }

    /// What was dropped passes when its stream gets to it.
    fn pass_dropped(&mut self, state: &mut State) {
        if state.dropped == 0 {
            return;
        }
        // Those before it on its stream have lower numbers.
        for id in self.flat.ids() {
            let due =
                self.lowered.before[id.index()].is_none_or(|before| state.done & bit(before) != 0);
            if state.dropped & bit(id) != 0 && due {
                self.start(state, id);
                state.done |= bit(id);
                state.dropped &= !bit(id);
            }
        }
    }
}
