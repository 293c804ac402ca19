//! Tables of texts by number.

use std::collections::{BTreeMap, HashMap};

/// Numbers texts in the order they come.
#[derive(Debug, Default)]
pub(super) struct Strings {
    ids: HashMap<String, i64>,
    pub(super) texts: Vec<String>,
}

impl Strings {
    /// The number of `text`.
    pub(super) fn id(&mut self, text: &str) -> i64 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.texts.len() as i64;
        self.ids.insert(text.to_owned(), id);
        self.texts.push(text.to_owned());
        id
    }

    /// The number of a text that may be missing.
    pub(super) fn or_none(&mut self, text: Option<&str>) -> i64 {
        self.id(text.unwrap_or("N/A"))
    }
}

/// An enumeration with the numbers that CANN gives (facts/traces.md section 2.5); what it does not
/// know gets numbers far above.
#[derive(Debug)]
pub(super) struct Enumeration {
    pub(super) table: &'static str,
    pub(super) names: BTreeMap<i64, String>,
}

/// Numbers from here on are ours.
const OURS: i64 = 100_000;

impl Enumeration {
    pub(super) fn new(table: &'static str, known: &[(i64, &str)]) -> Self {
        let names = known.iter().map(|(id, name)| (*id, (*name).to_owned()));
        Self {
            table,
            names: names.collect(),
        }
    }

    /// The number of `name`.
    pub(super) fn id(&mut self, name: &str) -> i64 {
        let mut known = self.names.iter();
        if let Some((id, _)) = known.find(|(_, own)| *own == name) {
            return *id;
        }
        let last = self.names.keys().next_back().copied().unwrap_or(0);
        let id = last.max(OURS) + 1;
        self.names.insert(id, name.to_owned());
        id
    }
}
