//! Expressions for people: `mul(2, tokens[1])`.

use std::fmt;

use super::Expr;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Var(variable) => write!(f, "{variable}"),
            Self::Add(terms) => call(f, "add", terms),
            Self::Mul(terms) => call(f, "mul", terms),
            Self::Min(terms) => call(f, "min", terms),
            Self::Max(terms) => call(f, "max", terms),
            Self::Sub(pair) => call(f, "sub", &pair[..]),
            Self::Div(pair) => call(f, "div", &pair[..]),
            Self::Ceil(term) => write!(f, "ceil({term})"),
            Self::Sqrt(term) => write!(f, "sqrt({term})"),
        }
    }
}

fn call(f: &mut fmt::Formatter<'_>, name: &str, terms: &[Expr]) -> fmt::Result {
    write!(f, "{name}(")?;
    for (index, term) in terms.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(f, "{comma}{term}")?;
    }
    f.write_str(")")
}
