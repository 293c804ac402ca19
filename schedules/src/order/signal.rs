//! Signals that several ops can give: notifies, flag events and words of memory.

use std::collections::HashMap;

use super::chains::Chains;
use crate::flat::{Binding, EventId, Flat, InstanceId, NotifyId, Target, WordId};
use crate::ir::{Compare, OpKind};

/// Some instances, of which a number must be done: "at least `count` of `of`".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// How many; more than there are if it can never be met.
    pub count: usize,
    /// Of which instances.
    pub of: Vec<InstanceId>,
}

/// Instances by the chain they are on, in order.
#[derive(Debug, Default)]
pub(super) struct ByChain(pub(super) Vec<(usize, Vec<(u32, InstanceId)>)>);

impl ByChain {
    fn push(&mut self, chains: &Chains, id: InstanceId) {
        let (chain, position) = chains.place(id);
        match self.0.iter_mut().find(|(of, _)| *of == chain) {
            Some((_, list)) => list.push((position, id)),
            None => self.0.push((chain, vec![(position, id)])),
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = InstanceId> {
        self.0
            .iter()
            .flat_map(|(_, list)| list.iter().map(|&(_, id)| id))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What the waits for one signal have in common.
#[derive(Debug, Default)]
pub(super) struct Signal {
    /// Ops that raise it.
    pub(super) setters: ByChain,
    /// Ops that lower it: resets, waits that take a notify, writes of other values.
    pub(super) clearers: ByChain,
    /// Waits for it, where each takes it.
    pub(super) takers: ByChain,
    pub(super) waits: Vec<InstanceId>,
    /// Whether it is up at the start.
    pub(super) initially: bool,
    /// Whether only a rank whose program is unknown can give it.
    pub(super) external: bool,
}

#[derive(Debug)]
pub(super) struct Signals {
    pub(super) all: Vec<Signal>,
    of_wait: Vec<Option<u32>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Notify(NotifyId),
    Event(EventId),
    Word(WordId, u64, Compare),
}

impl Signals {
    /// Finds all signals.
    ///
    /// # Complexity
    /// O(instances), and for words O(writes x conditions waited for).
    pub(super) fn new(flat: &Flat<'_>, chains: &Chains) -> Self {
        let mut signals = Self {
            all: Vec::new(),
            of_wait: vec![None; flat.instances().len()],
        };
        let mut numbers: HashMap<Key, usize> = HashMap::new();
        let mut conditions: HashMap<WordId, Vec<(usize, u64, Compare)>> = HashMap::new();
        for id in flat.ids() {
            let Some(key) = waited_for(flat, id) else {
                continue;
            };
            let number = *numbers.entry(key).or_insert_with(|| {
                signals.all.push(Signal::default());
                if let Key::Word(word, value, compare) = key {
                    let number = signals.all.len() - 1;
                    signals.all[number].initially = compare.holds(0, value);
                    conditions
                        .entry(word)
                        .or_default()
                        .push((number, value, compare));
                }
                signals.all.len() - 1
            });
            let signal = &mut signals.all[number];
            signal.waits.push(id);
            if let Key::Notify(_) = key {
                signal.clearers.push(chains, id);
                signal.takers.push(chains, id);
            }
            signals.of_wait[id.index()] = Some(number as u32);
        }
        for id in flat.ids() {
            let instance = &flat[id];
            match (&instance.op.kind, instance.target) {
                (OpKind::NotifyRecord(_), Target::Notify(notify)) => {
                    if let Some(&number) = numbers.get(&Key::Notify(notify)) {
                        signals.all[number].setters.push(chains, id);
                    }
                }
                (OpKind::ValueWrite(write), Target::Word(word)) => {
                    for &(number, value, compare) in conditions.get(&word).into_iter().flatten() {
                        let signal = &mut signals.all[number];
                        match compare.holds(write.value, value) {
                            true => signal.setters.push(chains, id),
                            false => signal.clearers.push(chains, id),
                        }
                    }
                }
                (kind, Target::Event(event)) if flat.binding(id) == Some(Binding::Flag) => {
                    if let Some(&number) = numbers.get(&Key::Event(event)) {
                        let signal = &mut signals.all[number];
                        match kind {
                            OpKind::EventReset(_) => signal.clearers.push(chains, id),
                            _ if instance.is_record() => signal.setters.push(chains, id),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        let any_external = flat
            .schedule()
            .ranks
            .iter()
            .any(|group| group.program.is_none());
        for (key, &number) in &numbers {
            let signal = &mut signals.all[number];
            signal.external = any_external
                && signal.setters.is_empty()
                && (signal.clearers.is_empty() || matches!(key, Key::Notify(_)))
                && !matches!(key, Key::Event(_));
        }
        signals
    }

    /// The signal that an instance waits for.
    pub(super) fn of(&self, wait: InstanceId) -> Option<&Signal> {
        let number = (*self.of_wait.get(wait.index())?)?;
        self.all.get(number as usize)
    }
}

fn waited_for(flat: &Flat<'_>, id: InstanceId) -> Option<Key> {
    let instance = &flat[id];
    match (&instance.op.kind, instance.target) {
        (OpKind::NotifyWait(_), Target::Notify(notify)) => Some(Key::Notify(notify)),
        (OpKind::ValueWait(wait), Target::Word(word)) => {
            Some(Key::Word(word, wait.value, wait.compare))
        }
        (OpKind::Wait(_), Target::Event(event)) => {
            (flat.binding(id) == Some(Binding::Flag)).then_some(Key::Event(event))
        }
        _ => None,
    }
}
