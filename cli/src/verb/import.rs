//! `ascsim import`.

use ascsim_schedules::format::{self, Encoding};

use crate::args::Import;
use crate::failure::{DONE, Failure};
use crate::output::{Target, write_json};
use crate::{profile, text};

/// Recovers the schedule that profiles show. The summary goes to standard output, or to standard
/// error where the schedule goes there.
pub(crate) fn run(arguments: &Import) -> Result<u8, Failure> {
    let target = arguments
        .output
        .as_ref()
        .map(|path| Target::new(path, arguments.force));
    target.iter().try_for_each(Target::check)?;
    let recovered = profile::recovered(&arguments.paths, arguments.step)?;
    let piped = target == Some(Target::Stdout);
    if let Some(target) = target {
        let encoding = if arguments.binary {
            Encoding::Binary
        } else {
            Encoding::Json
        };
        // Our own schedule must validate.
        let bytes = format::to_bytes(&recovered.schedule, encoding)
            .map_err(|error| Failure::Bug(error.to_string()))?;
        target.write(|out| out.write_all(&bytes))?;
    }
    if piped {
        anstream::eprint!("{}", text::profile::import(&recovered.summary));
        return Ok(DONE);
    }
    Target::Stdout.write(|out| {
        if arguments.json {
            write_json(out, &recovered.summary)
        } else {
            out.write_all(text::profile::import(&recovered.summary).as_bytes())
        }
    })?;
    Ok(DONE)
}
