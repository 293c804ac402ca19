//! `ascsim inspect`.

use std::fmt::Display;

use ascsim_traces::dump::{Dump, DumpReport};
use ascsim_traces::read::{Profile, detect};
use serde::Serialize;

use crate::args::Inspect;
use crate::failure::{DONE, Failure};
use crate::output::{Target, write_json};

/// Sums a profile up, or the dump of a captured graph.
pub(crate) fn run(arguments: &Inspect) -> Result<u8, Failure> {
    if let Ok(Profile::Dump(path)) = detect(&arguments.path) {
        let dump = Dump::read(&path).map_err(Failure::input)?;
        return print(
            arguments,
            &DumpReport::of(&arguments.path.display().to_string(), &dump),
        );
    }
    let report = ascsim_traces::inspect::inspect(&arguments.path).map_err(Failure::input)?;
    print(arguments, &report)
}

fn print(arguments: &Inspect, report: &(impl Serialize + Display)) -> Result<u8, Failure> {
    Target::Stdout.write(|out| {
        if arguments.json {
            write_json(out, report)
        } else {
            write!(out, "{report}")
        }
    })?;
    Ok(DONE)
}
