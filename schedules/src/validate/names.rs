//! What a schedule declares, by name.

use std::collections::HashMap;

use super::problem::{Invalid, Noun, ProblemKind};
use crate::ir::{Buffer, Communicator, Event, Notify, Program, Schedule, Stream, Variable};
use crate::path::At;

/// The declarations of a schedule by name. Of two with one name, the first.
#[derive(Debug)]
pub(super) struct Names<'a> {
    pub(super) variables: HashMap<&'a str, &'a Variable>,
    pub(super) buffers: HashMap<&'a str, &'a Buffer>,
    pub(super) streams: HashMap<&'a str, &'a Stream>,
    pub(super) events: HashMap<&'a str, &'a Event>,
    pub(super) notifies: HashMap<&'a str, &'a Notify>,
    pub(super) communicators: HashMap<&'a str, &'a Communicator>,
    /// With the index.
    pub(super) programs: HashMap<&'a str, (usize, &'a Program)>,
}

impl<'a> Names<'a> {
    /// Collects the names, and reports empty and duplicate ones.
    pub(super) fn collect(schedule: &'a Schedule, found: &mut Invalid) -> Self {
        macro_rules! table {
            ($section:ident, $noun:ident) => {
                table(
                    stringify!($section),
                    Noun::$noun,
                    schedule
                        .$section
                        .iter()
                        .map(|item| (item.name.as_str(), item)),
                    found,
                )
            };
        }
        let numbered = schedule.programs.iter().enumerate();
        Self {
            variables: table!(variables, Variable),
            buffers: table!(buffers, Buffer),
            streams: table!(streams, Stream),
            events: table!(events, Event),
            notifies: table!(notifies, Notify),
            communicators: table!(communicators, Communicator),
            programs: table(
                "programs",
                Noun::Program,
                numbered.map(|(index, program)| (program.name.as_str(), (index, program))),
                found,
            ),
        }
    }
}

/// The ranks of each communicator in ascending order.
pub(super) fn members(schedule: &Schedule) -> HashMap<&str, Vec<u32>> {
    let ranks = |communicator: &Communicator| {
        let mut ranks: Vec<u32> = communicator.groups.iter().flatten().copied().collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    };
    let all = schedule.communicators.iter();
    all.map(|communicator| (communicator.name.as_str(), ranks(communicator)))
        .collect()
}

fn table<'a, T>(
    section: &'static str,
    noun: Noun,
    items: impl Iterator<Item = (&'a str, T)>,
    found: &mut Invalid,
) -> HashMap<&'a str, T> {
    let mut names = HashMap::new();
    let list = At::ROOT.field(section);
    for (index, (name, item)) in items.enumerate() {
        let at = list.named(index, name);
        if name.is_empty() {
            found.push(&at.field("name"), ProblemKind::EmptyName(noun));
        }
        if names.contains_key(name) {
            let name = name.into();
            found.push(&at.field("name"), ProblemKind::Duplicate { noun, name });
        } else {
            names.insert(name, item);
        }
    }
    names
}
