//! Interned strings.

use std::collections::HashMap;

use smol_str::SmolStr;

/// A string of one [`Names`] table; compare names of the same trace only. The
/// default is the empty string in every table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(u32);

/// A table of strings, each held once. Names are numbered in the order they
/// were first seen, so the same file gives the same table.
#[derive(Debug, Clone)]
pub struct Names {
    by_text: HashMap<SmolStr, Name>,
    texts: Vec<SmolStr>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self {
            by_text: HashMap::new(),
            texts: Vec::new(),
        };
        names.intern("");
        names
    }
}

impl Names {
    /// The name of `text`, new if it was not seen before.
    pub fn intern(&mut self, text: &str) -> Name {
        if let Some(&name) = self.by_text.get(text) {
            return name;
        }
        // A table of 2^32 distinct strings needs more memory than a file that
        // a reader holds; the saturated name then reads as an empty string.
        let name = Name(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        let text = SmolStr::new(text);
        self.texts.push(text.clone());
        self.by_text.insert(text, name);
        name
    }

    /// The text of `name`; empty for a name of another table.
    pub fn get(&self, name: Name) -> &str {
        self.texts.get(name.0 as usize).map_or("", SmolStr::as_str)
    }

    /// How many distinct strings there are, the empty one included.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is none but the empty string.
    pub fn is_empty(&self) -> bool {
        self.texts.len() <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_the_same_name() {
        let mut names = Names::default();
        let a = names.intern("MatMulV3");
        let b = names.intern("Gelu");
        assert_eq!(names.intern("MatMulV3"), a);
        assert_ne!(a, b);
        assert_eq!(
            (names.get(a), names.get(b), names.len()),
            ("MatMulV3", "Gelu", 3)
        );
    }
}
