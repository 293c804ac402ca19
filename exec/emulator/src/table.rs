//! Handles. A handle that a caller holds is a key of a table and never an address: any value that is
//! not in the table of its kind is refused, and no key is used twice.

use std::collections::BTreeMap;

use crate::fault::{Fault, Outcome, code};

/// A handle as the caller sees it; 0 is the null handle.
pub(crate) type Key = usize;

/// Objects of one kind by handle.
#[derive(Debug)]
pub(crate) struct Table<T> {
    kind: usize,
    what: &'static str,
    next: usize,
    entries: BTreeMap<Key, T>,
}

impl<T> Table<T> {
    /// An empty table of objects called `what`; `kind` tells their handles from others'.
    pub(crate) fn new(kind: u8, what: &'static str) -> Self {
        Self {
            kind: usize::from(kind) << 48,
            what,
            next: 1,
            entries: BTreeMap::new(),
        }
    }

    pub(crate) fn insert(&mut self, entry: T) -> Key {
        // Multiples of 16, as handles that are addresses would be.
        let key = self.kind | (self.next << 4);
        self.next += 1;
        self.entries.insert(key, entry);
        key
    }

    pub(crate) fn get(&self, key: Key) -> Outcome<&T> {
        self.entries.get(&key).ok_or_else(|| self.unknown(key))
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Outcome<&mut T> {
        if !self.entries.contains_key(&key) {
            return Err(self.unknown(key));
        }
        self.entries
            .get_mut(&key)
            .ok_or_else(|| Fault::new(code::INTERNAL, "lost entry"))
    }

    pub(crate) fn remove(&mut self, key: Key) -> Outcome<T> {
        self.entries.remove(&key).ok_or_else(|| self.unknown(key))
    }

    /// The object, where a missing one is not an error of the caller.
    pub(crate) fn find(&mut self, key: Key) -> Option<&mut T> {
        self.entries.get_mut(&key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.entries.iter().map(|(key, entry)| (*key, entry))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.values_mut()
    }

    fn unknown(&self, key: Key) -> Fault {
        if key == 0 {
            return Fault::new(
                code::INVALID_PARAM,
                format!("EH0002: the {} is null", self.what),
            );
        }
        Fault::new(
            code::INVALID_HANDLE,
            format!("EE1001: {key:#x} is not the handle of a live {}", self.what),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_live_handles_of_the_kind_are_found() {
        let mut events = Table::new(1, "event");
        let mut streams = Table::new(2, "stream");
        let event = events.insert('e');
        let stream = streams.insert('s');
        assert_ne!(event, stream);
        assert_eq!(events.get(event), Ok(&'e'));
        assert_eq!(events.get(stream).unwrap_err().code, code::INVALID_HANDLE);
        assert_eq!(events.get(0).unwrap_err().code, code::INVALID_PARAM);
        assert_eq!(events.remove(event), Ok('e'));
        assert!(events.get(event).is_err());
        assert_ne!(events.insert('f'), event);
    }
}
