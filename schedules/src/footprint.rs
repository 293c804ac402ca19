//! Which bytes of which root buffer an access touches, views resolved.

use std::collections::HashMap;

use crate::ir::{Access, AccessMode, BufferName, Op, Peer, Range, Schedule};

/// The buffers of a schedule with every view resolved to its root.
#[derive(Debug)]
pub struct Footprints<'s> {
    roots: HashMap<&'s str, Root>,
}

#[derive(Clone, Copy, Debug)]
struct Root {
    buffer: usize,
    offset: u64,
    bytes: u64,
}

/// The bytes `[start, end)` of root buffer number `root` (its index in the schedule's list).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footprint<'s> {
    /// Index of the root buffer in [`Schedule::buffers`].
    pub root: usize,
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// How they are accessed.
    pub mode: AccessMode,
    /// Whose instance of the buffer.
    pub peer: &'s Peer,
}

impl Footprint<'_> {
    /// Whether the order of the two accesses can be seen: they overlap and not both only read.
    /// Accesses to instances of different ranks are taken to be the same rank's.
    pub fn conflicts_with(&self, other: &Footprint<'_>) -> bool {
        self.root == other.root
            && self.start < other.end
            && other.start < self.end
            && self.mode.conflicts_with(other.mode)
    }
}

impl<'s> Footprints<'s> {
    /// Resolves the views of `schedule`. A view of an unknown buffer, or one in a circle of views,
    /// has no footprint; [validation](crate::ir::Schedule) reports both.
    ///
    /// # Complexity
    /// O(buffers × depth of views).
    pub fn new(schedule: &'s Schedule) -> Self {
        let by_name: HashMap<&str, usize> = schedule
            .buffers
            .iter()
            .enumerate()
            .map(|(index, buffer)| (buffer.name.as_str(), index))
            .collect();
        let mut roots = HashMap::with_capacity(schedule.buffers.len());
        for (index, buffer) in schedule.buffers.iter().enumerate() {
            let (mut at, mut offset) = (index, 0_u64);
            // A chain of views longer than the number of buffers goes in a circle.
            for _ in 0..=schedule.buffers.len() {
                let Some(view) = &schedule.buffers[at].view else {
                    let root = Root {
                        buffer: at,
                        offset,
                        bytes: buffer.bytes,
                    };
                    roots.insert(buffer.name.as_str(), root);
                    break;
                };
                let Some(&parent) = by_name.get(view.of.as_str()) else {
                    break;
                };
                offset = offset.saturating_add(view.offset);
                at = parent;
            }
        }
        Self { roots }
    }

    /// The index of the root of a buffer or view in [`Schedule::buffers`].
    pub fn root(&self, buffer: &BufferName) -> Option<usize> {
        self.roots.get(buffer.as_str()).map(|root| root.buffer)
    }

    /// The bytes that `access` touches; `None` if its buffer is not declared.
    pub fn of<'a>(&self, access: &'a Access) -> Option<Footprint<'a>> {
        let root = self.roots.get(access.buffer.as_str())?;
        let (start, bytes) = match access.range {
            Range::Whole | Range::Any => (0, root.bytes),
            Range::Bytes(offset, length) => (offset, length),
        };
        let start = root.offset.saturating_add(start);
        Some(Footprint {
            root: root.buffer,
            start,
            end: start.saturating_add(bytes),
            mode: access.mode,
            peer: &access.peer,
        })
    }

    /// Whether the order of two ops can be seen in memory; `None` if the accesses of one of them are
    /// unknown.
    ///
    /// # Complexity
    /// O(accesses of one × accesses of the other).
    pub fn conflict(&self, one: &Op, other: &Op) -> Option<bool> {
        if one.accesses.is_unknown() || other.accesses.is_unknown() {
            return None;
        }
        let others: Vec<_> = other
            .accesses
            .known()
            .iter()
            .filter_map(|access| self.of(access))
            .collect();
        Some(
            one.accesses
                .known()
                .iter()
                .filter_map(|access| self.of(access))
                .any(|footprint| others.iter().any(|other| footprint.conflicts_with(other))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Accesses, Buffer, Extra, Memory, OpKind, Tags, View};

    fn buffer(name: &str, bytes: u64, view: Option<(&str, u64)>) -> Buffer {
        Buffer {
            name: name.into(),
            bytes,
            memory: Memory::Hbm,
            view: view.map(|(of, offset)| View {
                of: of.into(),
                offset,
            }),
            tags: Tags::default(),
            extra: Extra::default(),
        }
    }

    fn op(buffer: &str, mode: AccessMode, range: Range) -> Op {
        let mut op = Op::new("op", OpKind::Alloc("x".into()));
        let access = Access {
            buffer: buffer.into(),
            mode,
            range,
            peer: Peer::Own,
            extra: Extra::default(),
        };
        op.accesses = Accesses::Known(vec![access]);
        op
    }

    #[test]
    fn views_overlap_where_their_bytes_do() {
        let schedule = Schedule {
            buffers: vec![
                buffer("root", 100, None),
                buffer("low", 50, Some(("root", 0))),
                buffer("high", 50, Some(("root", 50))),
                buffer("inner", 10, Some(("high", 5))),
                buffer("round", 10, Some(("round", 0))),
            ],
            ..Schedule::default()
        };
        let footprints = Footprints::new(&schedule);
        let write = |name| op(name, AccessMode::Write, Range::Whole);
        let read = |name| op(name, AccessMode::Read, Range::Whole);
        assert_eq!(
            footprints.conflict(&write("low"), &read("high")),
            Some(false)
        );
        assert_eq!(
            footprints.conflict(&write("inner"), &read("high")),
            Some(true)
        );
        assert_eq!(
            footprints.conflict(&read("inner"), &read("high")),
            Some(false)
        );
        let before = op("root", AccessMode::Write, Range::Bytes(0, 55));
        assert_eq!(footprints.conflict(&before, &write("inner")), Some(false));
        let touching = op("root", AccessMode::Write, Range::Bytes(0, 56));
        assert_eq!(footprints.conflict(&touching, &write("inner")), Some(true));
        assert_eq!(
            footprints.conflict(&write("round"), &write("round")),
            Some(false)
        );
        let unknown = Op::new("u", OpKind::Alloc("x".into()));
        assert_eq!(footprints.conflict(&unknown, &write("low")), None);
    }
}
