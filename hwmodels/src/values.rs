//! Parameter values as a flat vector, and a reader that remembers which were used.

use std::cell::Cell;

use crate::{ParameterId, UnknownParameter};

const WORDS: usize = ParameterId::COUNT.div_ceil(64);

/// One value per parameter, by index: what cost functions read. Studies perturb, sample and refit
/// copies of it; the ranges stay in the [`Model`](crate::Model).
#[derive(Clone, Debug, PartialEq)]
pub struct Values(Box<[f64]>);

impl Values {
    /// A vector of `value(id)` per parameter.
    pub fn new(value: impl Fn(ParameterId) -> f64) -> Self {
        Self(ParameterId::ALL.iter().map(|&id| value(id)).collect())
    }

    /// The value of a parameter, in its unit.
    pub fn get(&self, id: ParameterId) -> f64 {
        // The vector has one entry per parameter and is never resized.
        self.0[id.index()]
    }

    /// Sets the value of a parameter, in its unit.
    pub fn set(&mut self, id: ParameterId, value: f64) {
        self.0[id.index()] = value;
    }

    /// A copy in which one parameter has another value.
    #[must_use]
    pub fn with(&self, id: ParameterId, value: f64) -> Self {
        let mut copy = self.clone();
        copy.set(id, value);
        copy
    }

    /// The value of the parameter of that name.
    ///
    /// # Errors
    /// If there is no such parameter.
    pub fn get_by_name(&self, name: &str) -> Result<f64, UnknownParameter> {
        Ok(self.get(UnknownParameter::find(name)?))
    }

    /// Sets the parameter of that name.
    ///
    /// # Errors
    /// If there is no such parameter.
    pub fn set_by_name(&mut self, name: &str, value: f64) -> Result<(), UnknownParameter> {
        self.set(UnknownParameter::find(name)?, value);
        Ok(())
    }

    /// All values, in order of [`ParameterId::ALL`].
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }
}

/// A set of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used([u64; WORDS]);

impl Used {
    /// Adds a parameter.
    pub fn insert(&mut self, id: ParameterId) {
        self.0[id.index() / 64] |= 1 << (id.index() % 64);
    }

    /// Whether the parameter is in the set.
    pub fn contains(&self, id: ParameterId) -> bool {
        self.0[id.index() / 64] & (1 << (id.index() % 64)) != 0
    }

    /// The parameters of both sets.
    #[must_use]
    pub fn union(mut self, other: Self) -> Self {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
        self
    }

    /// The parameters, in order of index.
    pub fn iter(&self) -> impl Iterator<Item = ParameterId> + '_ {
        ParameterId::ALL
            .iter()
            .copied()
            .filter(|&id| self.contains(id))
    }
}

impl serde::Serialize for Used {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Reads values and remembers which parameters a cost function used, so that an answer can name
/// what it rests on.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    values: &'a Values,
    used: Cell<Used>,
}

impl<'a> Reader<'a> {
    /// A reader of `values` that has used nothing.
    pub fn new(values: &'a Values) -> Self {
        Self {
            values,
            used: Cell::new(Used::default()),
        }
    }

    /// The value of a parameter, in its unit; remembered as used.
    pub fn get(&self, id: ParameterId) -> f64 {
        let mut used = self.used.get();
        used.insert(id);
        self.used.set(used);
        self.values.get(id)
    }

    /// The value of a whole parameter (cores, counts, bytes), at least 0.
    pub fn whole(&self, id: ParameterId) -> u64 {
        crate::number::whole(self.get(id))
    }

    /// The parameters used so far.
    pub fn used(&self) -> Used {
        self.used.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_names_what_was_read_and_nothing_else() {
        let values = Values::new(|id| id.index() as f64);
        let reader = Reader::new(&values);
        let last = *ParameterId::ALL.last().expect("there are parameters");
        assert_eq!(reader.get(ParameterId::ChipAiv), 1.0);
        assert_eq!(reader.get(last), last.index() as f64);
        let used: Vec<_> = reader.used().iter().collect();
        assert_eq!(used, [ParameterId::ChipAiv, last]);
    }

    #[test]
    fn values_are_set_by_name_and_by_id() {
        let mut values = Values::new(|_| 0.0);
        values
            .set_by_name("chip.aic", 24.0)
            .expect("the parameter exists");
        assert_eq!(values.get(ParameterId::ChipAic), 24.0);
        assert_eq!(
            values
                .with(ParameterId::ChipAic, 1.0)
                .get_by_name("chip.aic"),
            Ok(1.0)
        );
        let error = values.set_by_name("chip.aicx", 1.0).expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "there is no parameter `chip.aicx`; did you mean `chip.aic`?"
        );
    }
}
