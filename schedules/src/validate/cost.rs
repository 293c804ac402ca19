//! Checks of expressions, times and bytes.

use super::Checker;
use super::problem::ProblemKind;
use crate::ir::{Delay, Expr, Measured, VariableRef, Work};
use crate::path::At;

/// The longest time in ns: whole numbers are exact below it, and in ps it fits an `i64`. 104 days.
pub const MOST_NS: f64 = 9_007_199_254_740_992.0;

/// The most bytes, flops or other amounts, 2^63: as an integer, any fits a `u64`.
pub const MOST_AMOUNT: f64 = 9_223_372_036_854_775_808.0;

impl<'a> Checker<'a> {
    /// The nominal value of `expr` if it is from 0 to `most`; reports it otherwise.
    pub(super) fn amount(&mut self, at: &At<'_>, expr: &'a Expr, most: f64) -> Option<f64> {
        let value = expr.eval(&|variable| self.nominal(variable));
        match value {
            Ok(value) if (0.0..=most).contains(&value) => Some(value),
            Ok(value) => {
                self.report(at, ProblemKind::OutOfRange { value, most });
                None
            }
            Err(error) => {
                self.report(at, error.into());
                None
            }
        }
    }

    pub(super) fn time(&mut self, at: &At<'_>, time: &'a Measured) {
        self.amount(&at.field("ns"), &time.ns, MOST_NS);
    }

    pub(super) fn delay(&mut self, at: &At<'_>, delay: &'a Delay) {
        self.amount(&at.field("ns"), &delay.ns, MOST_NS);
    }

    pub(super) fn work(&mut self, at: &At<'_>, work: &'a Work) {
        let amounts = [
            ("cube_flops", &work.cube_flops),
            ("vector_flops", &work.vector_flops),
            ("bytes_read", &work.bytes_read),
            ("bytes_written", &work.bytes_written),
        ];
        for (name, amount) in amounts {
            if let Some(amount) = amount {
                self.amount(&at.field(name), amount, MOST_AMOUNT);
            }
        }
    }

    pub(super) fn nominal(&self, variable: &VariableRef) -> Option<f64> {
        let declared = self.names.variables.get(variable.name.as_str())?;
        let index = usize::try_from(variable.index).ok()?;
        declared.nominal.get(index).copied()
    }
}
