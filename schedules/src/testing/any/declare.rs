//! Random declarations.

use super::{Choices, expr};
use crate::ir::{
    Buffer, Communicator, CoreLimit, Event, EventKind, Expansion, Memory, Notify, Owner, Stream,
    Tags, Variable, VariableRef, View,
};

/// What a schedule declares. There is always at least one of each, but variables.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) variables: Vec<Variable>,
    pub(super) buffers: Vec<Buffer>,
    /// Where each buffer starts in its root.
    pub(super) origins: Vec<u64>,
    pub(super) streams: Vec<Stream>,
    /// The last is external.
    pub(super) events: Vec<Event>,
    pub(super) notifies: Vec<Notify>,
    /// All ranks are in each.
    pub(super) communicators: Vec<Communicator>,
    pub(super) ranks: u32,
}

impl Declared {
    pub(super) fn choose(choices: &mut Choices) -> Self {
        let ranks = 1 + choices.below(5) as u32;
        let mut declared = Self {
            variables: (0..choices.below(4))
                .map(|index| expr::variable(choices, index))
                .collect(),
            buffers: Vec::new(),
            origins: Vec::new(),
            streams: (0..=choices.below(4))
                .map(|at| stream(choices, at))
                .collect(),
            events: (0..=choices.below(4))
                .map(|at| event(choices, at))
                .collect(),
            notifies: (0..=choices.below(2))
                .map(|index| Notify {
                    name: choices.name("n", index).into(),
                    extra: choices.extra(),
                })
                .collect(),
            communicators: (0..=choices.below(2))
                .map(|index| communicator(choices, index, ranks))
                .collect(),
            ranks,
        };
        if let Some(event) = declared.events.last_mut() {
            event.kind = EventKind::External;
        }
        for index in 0..=choices.below(5) {
            declared.buffer(choices, index);
        }
        declared
    }

    fn buffer(&mut self, choices: &mut Choices, index: usize) {
        let parent = (index > 0 && choices.flag()).then(|| choices.below(index));
        let (view, bytes, memory, origin) = match parent {
            None => {
                let memory = [Memory::Hbm, Memory::HostPinned, Memory::HostPageable];
                // The first can hold words.
                let (bytes, memory) = match index {
                    0 => (64 + choices.natural() / 2, Memory::Hbm),
                    _ => (choices.natural(), *choices.pick(&memory)),
                };
                (None, bytes, memory, 0)
            }
            Some(parent) => {
                let of = &self.buffers[parent];
                let offset = choices.natural() % of.bytes.saturating_add(1).max(1);
                let bytes = choices.natural() % (of.bytes - offset).saturating_add(1).max(1);
                let of_name = of.name.clone();
                let view = View {
                    of: of_name,
                    offset,
                };
                let origin = self.origins[parent] + offset;
                (Some(view), bytes, of.memory, origin)
            }
        };
        self.origins.push(origin);
        self.buffers.push(Buffer {
            name: choices.name("b", index).into(),
            bytes,
            memory,
            view,
            tags: tags(choices),
            extra: choices.extra(),
        });
    }

    pub(super) fn nominal(&self, variable: &VariableRef) -> Option<f64> {
        let named = |declared: &&Variable| declared.name == variable.name;
        let declared = self.variables.iter().find(named)?;
        declared.nominal.get(variable.index as usize).copied()
    }
}

pub(super) fn tags(choices: &mut Choices) -> Tags {
    let mut tags = Tags::default();
    for _ in 0..choices.below(3) {
        tags.set(choices.text(), choices.text());
    }
    tags
}

fn stream(choices: &mut Choices, index: usize) -> Stream {
    // A device has one default stream.
    let owners = [Owner::Own, Owner::Borrowed, Owner::Default];
    let owners = if index == 0 { &owners } else { &owners[..2] };
    Stream {
        name: choices.name("s", index).into(),
        owner: *choices.pick(owners),
        priority: choices.maybe(|choices| choices.below(8) as u8),
        core_limit: choices.maybe(|choices| CoreLimit {
            aic: choices.maybe(|choices| choices.below(25) as u32),
            aiv: choices.maybe(|choices| choices.below(49) as u32),
        }),
        extra: choices.extra(),
    }
}

fn event(choices: &mut Choices, index: usize) -> Event {
    Event {
        name: choices.name("e", index).into(),
        kind: *choices.pick(&[
            EventKind::Ex,
            EventKind::Default,
            EventKind::Sync,
            EventKind::External,
            EventKind::Timeline,
        ]),
        extra: choices.extra(),
    }
}

pub(super) fn expansion(choices: &mut Choices) -> Expansion {
    *choices.pick(&[
        Expansion::AiCpu,
        Expansion::Aiv,
        Expansion::Host,
        Expansion::Ffts,
    ])
}

fn communicator(choices: &mut Choices, index: usize, ranks: u32) -> Communicator {
    let mut all: Vec<u32> = (0..ranks).collect();
    if choices.flag() {
        all.reverse();
    }
    let size = 1 + choices.below(all.len());
    Communicator {
        name: choices.name("c", index).into(),
        groups: all.chunks(size).map(<[u32]>::to_vec).collect(),
        expansion: choices.maybe(expansion),
        buffer_bytes: choices.maybe(Choices::natural),
        deterministic: choices.flag(),
        extra: choices.extra(),
    }
}
