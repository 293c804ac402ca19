//! What can be a file.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ir::{Prediction, PredictionFormat, Schedule, ScheduleFormat};
use crate::validate::{Invalid, validate, validate_prediction};

/// A type that is a file of its own. Its first field is `format`.
pub trait Document: Serialize + DeserializeOwned + JsonSchema {
    /// Format name and major version: the only ones that are read.
    const MAJOR: &'static str;

    /// Whether this build reads the version `text`; if not, why.
    ///
    /// # Errors
    /// If it does not.
    fn reads(text: &str) -> Result<(), crate::UnknownVersion>;

    /// Whether the document makes sense.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn check(&self) -> Result<(), Invalid>;
}

impl Document for Schedule {
    const MAJOR: &'static str = ScheduleFormat::MAJOR;

    fn reads(text: &str) -> Result<(), crate::UnknownVersion> {
        text.parse::<ScheduleFormat>().map(drop)
    }

    fn check(&self) -> Result<(), Invalid> {
        validate(self)
    }
}

impl Document for Prediction {
    const MAJOR: &'static str = PredictionFormat::MAJOR;

    fn reads(text: &str) -> Result<(), crate::UnknownVersion> {
        text.parse::<PredictionFormat>().map(drop)
    }

    fn check(&self) -> Result<(), Invalid> {
        validate_prediction(self)
    }
}
