//! `ascsim inspect`.

use crate::args::Inspect;
use crate::failure::{DONE, Failure};
use crate::output::{Target, write_json};

/// Sums a profile up.
pub(crate) fn run(arguments: &Inspect) -> Result<u8, Failure> {
    let report = ascsim_traces::inspect::inspect(&arguments.path).map_err(Failure::input)?;
    Target::Stdout.write(|out| {
        if arguments.json {
            write_json(out, &report)
        } else {
            write!(out, "{report}")
        }
    })?;
    Ok(DONE)
}
