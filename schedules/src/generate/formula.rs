//! Formulas of the op lists: `2*T*(2*KD+2*VD)/tp`, `layer==0 & norm_bias`.
//!
//! Symbols stand for numbers or for expressions over random variables. Constants are folded, so that
//! only what is random stays an expression. `+ - * /`, comparisons (1 or 0), `&`, `ceil(a)`,
//! `min(a,b)` and `max(a,b)`; `&` binds least, then comparisons, sums, products.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use crate::ir::Expr;

/// What the symbols of formulas stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols(BTreeMap<SmolStr, Expr>);

impl Symbols {
    pub(super) fn set(&mut self, name: &str, value: impl Into<Expr>) {
        self.0.insert(name.into(), value.into());
    }

    /// The value of a formula. O(its length).
    ///
    /// # Errors
    /// If it cannot be parsed, names an unknown symbol, or compares something random.
    pub(super) fn eval(&self, text: &str) -> Result<Expr, String> {
        let mut parser = Parser {
            symbols: self,
            text,
            rest: text,
        };
        let value = parser.all()?;
        match parser.peek() {
            None => Ok(value),
            Some(_) => Err(parser.error("unexpected text")),
        }
    }

    /// The value of a formula that must be a number.
    pub(super) fn number(&self, text: &str) -> Result<f64, String> {
        let value = self.eval(text)?;
        value
            .constant()
            .ok_or_else(|| format!("`{text}` must not depend on a random variable"))
    }

    /// Whether a condition holds; an empty one does.
    pub(super) fn holds(&self, text: &str) -> Result<bool, String> {
        Ok(text.is_empty() || self.number(text)? != 0.0)
    }

    /// The value of a formula as a size in whole bytes, rounded up; random symbols must have been
    /// replaced.
    pub(super) fn bytes(&self, text: &str) -> Result<u64, String> {
        let value = self.number(text)?.ceil();
        // Above 2^53 nothing is exact, and no device has it.
        if (0.0..9e15).contains(&value) {
            Ok(value as u64)
        } else {
            Err(format!("`{text}` is {value} bytes"))
        }
    }
}

struct Parser<'a> {
    symbols: &'a Symbols,
    text: &'a str,
    rest: &'a str,
}

impl Parser<'_> {
    fn error(&self, what: &str) -> String {
        let at = self.text.len() - self.rest.len();
        format!("`{}`: {what} at byte {at}", self.text)
    }

    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn all(&mut self) -> Result<Expr, String> {
        let mut value = self.comparison()?;
        while self.take("&") {
            let other = self.comparison()?;
            value = self.truth(&value, &other, |a, b| a != 0.0 && b != 0.0)?;
        }
        Ok(value)
    }

    fn comparison(&mut self) -> Result<Expr, String> {
        let left = self.sum()?;
        let compare: fn(f64, f64) -> bool = if self.take("==") {
            |a, b| a == b
        } else if self.take(">=") {
            |a, b| a >= b
        } else if self.take("<=") {
            |a, b| a <= b
        } else if self.take(">") {
            |a, b| a > b
        } else if self.take("<") {
            |a, b| a < b
        } else {
            return Ok(left);
        };
        let right = self.sum()?;
        self.truth(&left, &right, compare)
    }

    fn truth(
        &self,
        left: &Expr,
        right: &Expr,
        holds: impl Fn(f64, f64) -> bool,
    ) -> Result<Expr, String> {
        match (left.constant(), right.constant()) {
            (Some(a), Some(b)) => Ok(Expr::Int(i64::from(holds(a, b)))),
            _ => Err(self.error("a condition cannot depend on a random variable")),
        }
    }

    fn sum(&mut self) -> Result<Expr, String> {
        let mut value = self.product()?;
        loop {
            if self.take("+") {
                value = add(value, self.product()?);
            } else if self.take("-") {
                value = subtract(value, self.product()?);
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<Expr, String> {
        let mut value = self.primary()?;
        loop {
            if self.take("*") {
                value = multiply(value, self.primary()?);
            } else if self.take("/") {
                value = divide(value, self.primary()?);
            } else {
                return Ok(value);
            }
        }
    }

    fn primary(&mut self) -> Result<Expr, String> {
        if self.take("(") {
            let value = self.all()?;
            return self.closed(value);
        }
        self.rest = self.rest.trim_start();
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err(self.error("a number, a symbol or `(` is expected"));
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number: f64 = word.parse().map_err(|_| self.error("not a number"))?;
            self.rest = rest;
            return Ok(constant(number));
        }
        if let Some(inner) = rest.strip_prefix('(') {
            let name = word.to_owned();
            self.rest = inner;
            return self.function(&name);
        }
        let value = self.symbols.0.get(word).cloned();
        let value = value.ok_or_else(|| self.error(&format!("unknown symbol `{word}`")))?;
        self.rest = rest;
        Ok(value)
    }

    fn function(&mut self, name: &str) -> Result<Expr, String> {
        let first = self.all()?;
        if name == "ceil" {
            let value = match first.constant() {
                Some(value) => constant(value.ceil()),
                None => Expr::Ceil(Box::new(first)),
            };
            return self.closed(value);
        }
        if !self.take(",") {
            return Err(self.error("a comma is expected"));
        }
        let second = self.all()?;
        let pair = (first.constant(), second.constant());
        let value = match (name, pair) {
            ("min", (Some(a), Some(b))) => constant(a.min(b)),
            ("max", (Some(a), Some(b))) => constant(a.max(b)),
            ("min", _) => Expr::Min(vec![first, second]),
            ("max", _) => Expr::Max(vec![first, second]),
            _ => return Err(self.error(&format!("unknown function `{name}`"))),
        };
        self.closed(value)
    }

    fn closed(&mut self, value: Expr) -> Result<Expr, String> {
        if self.take(")") {
            Ok(value)
        } else {
            Err(self.error("`)` is expected"))
        }
    }
}

/// A number, whole where it is exactly whole.
pub(super) fn constant(value: f64) -> Expr {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Expr::Int(value as i64)
    } else {
        Expr::Float(value)
    }
}

fn both(left: &Expr, right: &Expr) -> Option<(f64, f64)> {
    Some((left.constant()?, right.constant()?))
}

/// The sum, folded where both are numbers.
pub(super) fn add(left: Expr, right: Expr) -> Expr {
    match (both(&left, &right), left, right) {
        (Some((a, b)), ..) => constant(a + b),
        (None, Expr::Int(0), other) | (None, other, Expr::Int(0)) => other,
        (None, left, right) => Expr::Add(vec![left, right]),
    }
}

fn subtract(left: Expr, right: Expr) -> Expr {
    match both(&left, &right) {
        Some((a, b)) => constant(a - b),
        None => Expr::Sub(Box::new([left, right])),
    }
}

/// The product, folded where both are numbers; numbers gather in front.
pub(super) fn multiply(left: Expr, right: Expr) -> Expr {
    match (both(&left, &right), left, right) {
        (Some((a, b)), ..) => constant(a * b),
        (None, Expr::Mul(mut factors), other) | (None, other, Expr::Mul(mut factors)) => {
            match factors.first().and_then(|first| both(first, &other)) {
                Some((a, b)) => factors[0] = constant(a * b),
                None if other.constant().is_some() => factors.insert(0, other),
                None => factors.push(other),
            }
            Expr::Mul(factors)
        }
        (None, left, right) if right.constant().is_some() => Expr::Mul(vec![right, left]),
        (None, left, right) => Expr::Mul(vec![left, right]),
    }
}

fn divide(left: Expr, right: Expr) -> Expr {
    match both(&left, &right) {
        Some((a, b)) if b != 0.0 => constant(a / b),
        _ => Expr::Div(Box::new([left, right])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols() -> Symbols {
        let mut symbols = Symbols::default();
        symbols.set("T", 3);
        symbols.set("tp", 2);
        symbols.set("D", Expr::Var("distinct[4]".parse().unwrap()));
        symbols
    }

    #[test]
    fn numbers_fold_and_bind_as_written() {
        let symbols = symbols();
        for (text, value) in [
            ("1+2*T", 7.0),
            ("(1+2)*T/tp", 4.5),
            ("ceil(T/tp)*tp", 4.0),
            ("min(T,tp)+max(T,tp)", 5.0),
            ("T==3 & tp>1", 1.0),
            ("T-1>=tp & 0", 0.0),
        ] {
            assert_eq!(symbols.number(text), Ok(value), "{text}");
        }
        assert_eq!(symbols.bytes("T/tp"), Ok(2));
    }

    #[test]
    fn what_is_random_stays_an_expression() {
        let value = symbols().eval("2*D*T*5").unwrap();
        let factors = vec![Expr::Int(30), Expr::Var("distinct[4]".parse().unwrap())];
        assert_eq!(value, Expr::Mul(factors));
        assert!(symbols().number("D").unwrap_err().contains("random"));
        assert!(symbols().holds("D>1").is_err());
    }

    #[test]
    fn errors_say_where() {
        let error = symbols().eval("2*nothing").unwrap_err();
        assert_eq!(error, "`2*nothing`: unknown symbol `nothing` at byte 2");
        for text in ["2*", "(T", "T)", "f(T,1)", "min(T)"] {
            assert!(symbols().eval(text).is_err(), "{text}");
        }
    }
}
