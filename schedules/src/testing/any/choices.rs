//! Numbers that decide.

use serde_json::{Map, Value};
use smol_str::SmolStr;

/// A list of numbers, each of which makes one choice; 0 when they have run out.
#[derive(Clone, Debug)]
pub struct Choices {
    numbers: std::vec::IntoIter<u32>,
}

impl Choices {
    /// The choices that `numbers` make.
    pub fn new(numbers: Vec<u32>) -> Self {
        Self {
            numbers: numbers.into_iter(),
        }
    }

    fn next(&mut self) -> u32 {
        self.numbers.next().unwrap_or(0)
    }

    /// One of the numbers from 0 to `count - 1`; 0 if `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        self.next() as usize % count.max(1)
    }

    /// True or false; false when the numbers have run out.
    pub fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Something or nothing; nothing when the numbers have run out.
    pub fn maybe<T>(&mut self, some: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| some(self))
    }

    /// One of `list`, which is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// Any whole number, with a liking for small ones and for the ends of the range.
    pub fn integer(&mut self) -> i64 {
        let number = i64::from(self.next());
        match self.below(6) {
            0 => number % 100,
            1 => number,
            2 => -number,
            3 => *self.pick(&[i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1, -1]),
            _ => (number << 32) ^ i64::from(self.next()),
        }
    }

    /// Any unsigned whole number, with a liking for small ones and for the greatest.
    pub fn natural(&mut self) -> u64 {
        match self.below(4) {
            0 => u64::from(self.next() % 100),
            1 => u64::MAX - u64::from(self.next() % 2),
            _ => self.integer().cast_unsigned(),
        }
    }

    /// Any finite number.
    pub fn number(&mut self) -> f64 {
        match self.below(4) {
            0 => f64::from(self.next() % 1000) / 10.0,
            1 => *self.pick(&[0.1, -0.0, 1e300, f64::MIN_POSITIVE, f64::MAX, 1e-320, 3.0]),
            _ => {
                let value = f64::from_bits(self.integer().cast_unsigned());
                if value.is_finite() { value } else { 0.5 }
            }
        }
    }

    /// Any text, with a liking for what is difficult to write; may be empty.
    pub fn text(&mut self) -> String {
        const PARTS: &[&str] = &[
            "a",
            "MatMul",
            "layer",
            ".",
            "/",
            " ",
            "\"",
            "\\",
            "\n",
            "\u{0}",
            "\u{7f}",
            "é",
            "流",
            "\u{1f680}",
            "[1]",
            "*",
            "|",
            "=",
            "\u{2028}",
            "a rather long piece of text",
        ];
        (0..self.below(4)).map(|_| *self.pick(PARTS)).collect()
    }

    /// A name for the thing `index` of a kind: unique by the index, and not empty.
    pub fn name(&mut self, kind: &str, index: usize) -> SmolStr {
        let mut name = format!("{kind}{index}");
        if self.below(4) == 3 {
            name.push('_');
            name.push_str(&self.text());
        }
        name.into()
    }

    /// Any JSON value of at most `depth` levels.
    pub fn json(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 8 }) {
            0 => Value::Null,
            1 => self.flag().into(),
            2 => self.integer().into(),
            3 => self.natural().into(),
            4 => self.number().into(),
            5 => self.text().into(),
            6 => (0..self.below(3)).map(|_| self.json(depth - 1)).collect(),
            _ => {
                let fields = (0..self.below(3)).map(|_| (self.text(), self.json(depth - 1)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}
