//! `ascsim schema`.

use ascsim_schedules::format::json_schema;
use ascsim_schedules::{Prediction, Schedule};

use crate::args::SchemaName;
use crate::failure::{DONE, Failure};
use crate::output::Target;

/// Prints the JSON Schema of a file format.
pub(crate) fn run(format: SchemaName) -> Result<u8, Failure> {
    let schema = match format {
        SchemaName::Schedule => json_schema::<Schedule>(),
        SchemaName::Prediction => json_schema::<Prediction>(),
    };
    Target::Stdout.write(|out| out.write_all(schema.as_bytes()))?;
    Ok(DONE)
}
