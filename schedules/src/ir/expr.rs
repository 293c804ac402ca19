//! Numbers that may depend on random variables.
//!
//! Samples of one variable are shared by all ops that name it, so durations that depend on the same
//! expert routing stay correlated across ops and ranks.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

use super::{Extra, Provenance};

/// A number, or an expression over random variables.
///
/// In a file: a number, a variable as text (`"routing"`, `"routing[3]"`), or an object with one
/// operator in prefix form: `{"mul": [2, "tokens"]}`. Only operations that give the same result on
/// every platform exist.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A whole number, kept exactly.
    Int(i64),
    /// A finite number.
    Float(f64),
    /// The value of a variable.
    Var(VariableRef),
    /// The sum of its terms; 0 for none.
    Add(Vec<Expr>),
    /// The first less the second.
    Sub(Box<[Expr; 2]>),
    /// The product of its factors; 1 for none.
    Mul(Vec<Expr>),
    /// The first divided by the second; a division by zero is an error when evaluated.
    Div(Box<[Expr; 2]>),
    /// The smallest of its terms; at least one.
    Min(Vec<Expr>),
    /// The greatest of its terms; at least one.
    Max(Vec<Expr>),
    /// The smallest whole number that is not below it.
    Ceil(Box<Expr>),
    /// The square root; an error for a negative number.
    Sqrt(Box<Expr>),
}

/// One component of a variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableRef {
    /// The variable.
    pub name: SmolStr,
    /// Which of its components; 0 for a scalar.
    pub index: u32,
}

/// A declared random variable: one or several numbers drawn once per sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variable {
    /// Its name: letters, digits, `_`, `.` and `-`.
    #[schemars(with = "String")]
    pub name: SmolStr,
    /// The value of each component where nothing is sampled; its length is the number of components.
    pub nominal: Vec<f64>,
    /// How it is drawn.
    pub distribution: Distribution,
    /// Where nominal value and distribution come from.
    pub from: Provenance,
    /// A note for people: source, meaning, unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub note: Option<SmolStr>,
    /// Unknown fields.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    #[schemars(skip)]
    pub extra: Extra,
}

/// How a variable is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution {
    /// Always the nominal value.
    Fixed,
    /// Each component on its own, uniform between the two.
    Uniform {
        /// Least value.
        low: f64,
        /// Greatest value.
        high: f64,
    },
    /// Each component on its own, triangular around its nominal value.
    Triangular {
        /// Least value.
        low: f64,
        /// Greatest value.
        high: f64,
    },
    /// Each component on its own, one of the values, with these weights.
    Discrete {
        /// The values.
        values: Vec<f64>,
        /// Their weights; as many as values, not all zero.
        weights: Vec<f64>,
    },
    /// Whole rows: one of the rows, each as long as `nominal`, all equally likely. For recorded
    /// vectors whose components belong together (an expert histogram per step).
    Rows {
        /// The rows.
        rows: Vec<Vec<f64>>,
    },
    /// Tokens per rank or expert: `tokens` tokens choose `top_k` different experts each, with the
    /// popularity of the r-th expert falling as `1 / r^skew`; experts are dealt to the components in
    /// equal blocks. `skew` 0 is uniform routing.
    Routing {
        /// Tokens routed.
        tokens: u32,
        /// Experts chosen by each.
        top_k: u32,
        /// Number of experts; a multiple of the number of components.
        experts: u32,
        /// Exponent of the popularity, a whole number of halves (0, 0.5, 1, …), so that it can be
        /// computed with multiplications and square roots.
        skew: f64,
    },
    /// Accepted speculative tokens: the number of successes before the first failure, at most `most`.
    Acceptance {
        /// Probability that one more token is accepted.
        rate: f64,
        /// Tokens proposed.
        most: u32,
    },
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvalError {
    /// A variable that the schedule does not declare, or a component it does not have.
    #[error(
        "variable `{0}` is not declared or has no such component; declare it under `variables`"
    )]
    UnknownVariable(VariableRef),
    /// A division by zero, the root of a negative number, an overflow.
    #[error("`{0}` has no finite value")]
    NotFinite(&'static str),
    /// A minimum or maximum of nothing.
    #[error("`{0}` needs at least one term")]
    NoTerms(&'static str),
}

impl Expr {
    /// Its value with the variables' values from `value_of`.
    ///
    /// # Errors
    /// If a variable is unknown to `value_of`, or the result is not finite.
    ///
    /// # Complexity
    /// O(size of the expression).
    pub fn eval(&self, value_of: &dyn Fn(&VariableRef) -> Option<f64>) -> Result<f64, EvalError> {
        let (value, what) = match self {
            // Exact below 2^53, which is 104 days in ns.
            Self::Int(value) => (*value as f64, "int"),
            Self::Float(value) => (*value, "float"),
            Self::Var(variable) => (
                value_of(variable).ok_or_else(|| EvalError::UnknownVariable(variable.clone()))?,
                "variable",
            ),
            Self::Add(terms) => (fold(terms, 0.0, value_of, |a, b| a + b)?, "add"),
            Self::Mul(terms) => (fold(terms, 1.0, value_of, |a, b| a * b)?, "mul"),
            Self::Sub(pair) => (pair[0].eval(value_of)? - pair[1].eval(value_of)?, "sub"),
            Self::Div(pair) => (pair[0].eval(value_of)? / pair[1].eval(value_of)?, "div"),
            Self::Min(terms) => (reduce(terms, "min", value_of, f64::min)?, "min"),
            Self::Max(terms) => (reduce(terms, "max", value_of, f64::max)?, "max"),
            Self::Ceil(term) => (term.eval(value_of)?.ceil(), "ceil"),
            Self::Sqrt(term) => (term.eval(value_of)?.sqrt(), "sqrt"),
        };
        if value.is_finite() {
            Ok(value)
        } else {
            Err(EvalError::NotFinite(what))
        }
    }

    /// The number, if it is a constant.
    pub fn constant(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// Calls `visit` for every variable named in it, in order.
    pub fn visit_variables<'a>(&'a self, visit: &mut dyn FnMut(&'a VariableRef)) {
        match self {
            Self::Int(_) | Self::Float(_) => {}
            Self::Var(variable) => visit(variable),
            Self::Add(terms) | Self::Mul(terms) | Self::Min(terms) | Self::Max(terms) => {
                terms.iter().for_each(|term| term.visit_variables(visit));
            }
            Self::Sub(pair) | Self::Div(pair) => {
                pair.iter().for_each(|term| term.visit_variables(visit));
            }
            Self::Ceil(term) | Self::Sqrt(term) => term.visit_variables(visit),
        }
    }

    /// The expression times `factor`. A constant stays a constant; a whole number stays whole where
    /// the result is.
    pub fn scaled(&self, factor: f64) -> Self {
        match self.constant() {
            _ if factor == 1.0 => self.clone(),
            Some(value) => (value * factor).into(),
            None => Self::Mul(vec![factor.into(), self.clone()]),
        }
    }
}

type Values<'a> = &'a dyn Fn(&VariableRef) -> Option<f64>;

fn fold(
    terms: &[Expr],
    start: f64,
    value_of: Values<'_>,
    op: fn(f64, f64) -> f64,
) -> Result<f64, EvalError> {
    terms
        .iter()
        .try_fold(start, |sum, term| Ok(op(sum, term.eval(value_of)?)))
}

fn reduce(
    terms: &[Expr],
    what: &'static str,
    value_of: Values<'_>,
    op: fn(f64, f64) -> f64,
) -> Result<f64, EvalError> {
    let (first, rest) = terms.split_first().ok_or(EvalError::NoTerms(what))?;
    rest.iter().try_fold(first.eval(value_of)?, |best, term| {
        Ok(op(best, term.eval(value_of)?))
    })
}

impl From<i64> for Expr {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<i32> for Expr {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u32> for Expr {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<f64> for Expr {
    /// A whole number below 2^53 becomes [`Expr::Int`], so that one value has one form.
    fn from(value: f64) -> Self {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if value.fract() == 0.0 && value.abs() < EXACT {
            Self::Int(value as i64)
        } else {
            Self::Float(value)
        }
    }
}

impl fmt::Display for VariableRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            0 => f.write_str(&self.name),
            index => write!(f, "{}[{index}]", self.name),
        }
    }
}

impl std::str::FromStr for VariableRef {
    type Err = String;

    /// Reads `name` or `name[index]`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, index) = match text.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
            Some((name, index)) => match index.parse() {
                // One spelling per component, so that a schedule read and written is the same.
                Ok(index) if index > 0 && !name.is_empty() => (name, index),
                _ => {
                    return Err(format!(
                        "`{text}` is not a variable: expected `name` for the first component or \
                         `name[index]` with an index from 1 up"
                    ));
                }
            },
            None => (text, 0),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!(
                "`{text}` is not a variable: a name has letters, digits, `_`, `.` and `-`"
            ));
        }
        Ok(Self {
            name: name.into(),
            index,
        })
    }
}

impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Var(variable) => serializer.collect_str(variable),
            Self::Add(terms) => serializer.collect_map([("add", terms)]),
            Self::Mul(terms) => serializer.collect_map([("mul", terms)]),
            Self::Min(terms) => serializer.collect_map([("min", terms)]),
            Self::Max(terms) => serializer.collect_map([("max", terms)]),
            Self::Sub(pair) => serializer.collect_map([("sub", pair)]),
            Self::Div(pair) => serializer.collect_map([("div", pair)]),
            Self::Ceil(term) => serializer.collect_map([("ceil", term)]),
            Self::Sqrt(term) => serializer.collect_map([("sqrt", term)]),
        }
    }
}

impl<'de> Deserialize<'de> for Expr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExprVisitor)
    }
}

struct ExprVisitor;

impl<'de> Visitor<'de> for ExprVisitor {
    type Value = Expr;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a variable, or an object with one operator")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Expr, E> {
        Ok(Expr::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Expr, E> {
        i64::try_from(value)
            .map(Expr::Int)
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &"a number below 2^63"))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Expr, E> {
        if !value.is_finite() {
            return Err(E::invalid_value(
                Unexpected::Float(value),
                &"a finite number",
            ));
        }
        Ok(Expr::Float(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Expr, E> {
        text.parse().map(Expr::Var).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Expr, A::Error> {
        const OPERATORS: &[&str] = &["add", "sub", "mul", "div", "min", "max", "ceil", "sqrt"];
        let name: SmolStr = map
            .next_key()?
            .ok_or_else(|| A::Error::invalid_length(0, &"one operator"))?;
        let expr = match name.as_str() {
            "add" => Expr::Add(map.next_value()?),
            "mul" => Expr::Mul(map.next_value()?),
            "min" => Expr::Min(map.next_value()?),
            "max" => Expr::Max(map.next_value()?),
            "sub" => Expr::Sub(map.next_value()?),
            "div" => Expr::Div(map.next_value()?),
            "ceil" => Expr::Ceil(map.next_value()?),
            "sqrt" => Expr::Sqrt(map.next_value()?),
            other => return Err(A::Error::unknown_variant(other, OPERATORS)),
        };
        match map.next_key::<SmolStr>()? {
            None => Ok(expr),
            Some(second) => Err(A::Error::custom(format_args!(
                "an expression has one operator, not both `{name}` and `{second}`"
            ))),
        }
    }
}

impl JsonSchema for Expr {
    fn schema_name() -> Cow<'static, str> {
        "Expr".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let expr = generator.subschema_for::<Self>();
        let operator = |name: &str, terms: Schema| {
            json_schema!({
                "type": "object",
                "properties": { name: terms },
                "required": [name],
                "additionalProperties": false,
            })
        };
        let many = json_schema!({ "type": "array", "items": expr.clone() });
        let two =
            json_schema!({ "type": "array", "items": expr.clone(), "minItems": 2, "maxItems": 2 });
        json_schema!({
            "description": "A number, a variable (`name` or `name[index]`), or an operator in prefix form.",
            "oneOf": [
                { "type": "number" },
                { "type": "string", "pattern": r"^[A-Za-z0-9_.-]+(\[[1-9][0-9]*\])?$" },
                operator("add", many.clone()),
                operator("mul", many.clone()),
                operator("min", many.clone()),
                operator("max", many),
                operator("sub", two.clone()),
                operator("div", two),
                operator("ceil", expr.clone()),
                operator("sqrt", expr),
            ],
        })
    }
}
