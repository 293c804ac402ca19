//! `ascsim show`.

use ascsim_schedules::dump::dump;
use ascsim_schedules::hash::{content_hash, structure_hash};
use serde::Serialize;

use crate::args::Show;
use crate::failure::{DONE, Failure};
use crate::input;
use crate::output::{Target, write_json};

#[derive(Serialize)]
struct Hashes {
    format: &'static str,
    name: String,
    structure: String,
    content: String,
}

/// Shows a schedule as text, or its hashes.
pub(crate) fn run(arguments: &Show) -> Result<u8, Failure> {
    let schedule = input::schedule(&arguments.path)?;
    let hashes = Hashes {
        format: "ascsim.hashes/1",
        name: schedule.name.clone(),
        structure: structure_hash(&schedule).to_string(),
        content: content_hash(&schedule).to_string(),
    };
    Target::Stdout.write(|out| {
        if arguments.json {
            return write_json(out, &hashes);
        }
        writeln!(
            out,
            "structure {}\ncontent   {}\n",
            hashes.structure, hashes.content
        )?;
        out.write_all(dump(&schedule).as_bytes())
    })?;
    Ok(DONE)
}
