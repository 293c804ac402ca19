//! Profiles: read, and made schedules of.

use std::path::{Path, PathBuf};

use ascsim_sim::Options;
use ascsim_studies::Input;
use ascsim_traces::Trace;
use ascsim_traces::recover::{Recovered, Settings, recover};

use crate::failure::Failure;

/// Reads profiles, of one or several ranks each, and makes one schedule of them. Without a step, the
/// last one that the first profile has; the whole capture if it marks none.
///
/// # Errors
/// If a profile cannot be read, or nothing ran in the step.
pub(crate) fn recovered(paths: &[PathBuf], step: Option<u32>) -> Result<Recovered, Failure> {
    let mut traces: Vec<Trace> = Vec::new();
    for path in paths {
        traces.extend(ascsim_traces::read_all(path).map_err(Failure::input)?);
    }
    let traces: Vec<&Trace> = traces.iter().collect();
    let last = traces
        .first()
        .and_then(|trace| trace.steps.iter().map(|step| step.number).max());
    recover(
        &traces,
        Settings {
            step: step.or(last),
        },
    )
    .map_err(Failure::input)
}

/// What a study of a profile starts from.
///
/// # Errors
/// As [`recovered`], or if the schedule cannot be simulated.
pub(crate) fn study(path: &Path, step: Option<u32>, options: &Options) -> Result<Input, Failure> {
    let recovered = recovered(&[path.to_path_buf()], step)?;
    let name = path.display().to_string();
    ascsim_studies::profile(&name, recovered, options).map_err(Failure::input)
}
