//! What a path names: a schedule, a profile, standard input, or the built-in example.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use ascsim_schedules::format::{self, ReadError};
use ascsim_schedules::hash::content_hash;
use ascsim_schedules::{Certificate, Schedule, library};
use ascsim_sim::Options;
use ascsim_studies::{Input, Source, SourceKind, Variant, WhatIf};

use crate::failure::Failure;

/// Reads the schedule in a file, or on standard input for `-`.
///
/// # Errors
/// If it cannot be read or is no schedule.
pub(crate) fn schedule(path: &Path) -> Result<Schedule, Failure> {
    let bytes = bytes(path)?;
    format::read(&bytes).map_err(|error: ReadError| in_file(path, &error))
}

/// The schedule that a path names, or that the profile there shows.
///
/// # Errors
/// If the path names neither, or a step of a schedule is asked for.
pub(crate) fn schedule_or_profile(path: &Path, step: Option<u32>) -> Result<Schedule, Failure> {
    if !is_schedule(path) {
        return Ok(crate::profile::recovered(&[path.to_path_buf()], step)?.schedule);
    }
    no_step(step)?;
    schedule(path)
}

fn no_step(step: Option<u32>) -> Result<(), Failure> {
    let why = "--step chooses a step of a profile, but the input is a schedule";
    step.map_or(Ok(()), |_| Err(Failure::Input(why.to_owned())))
}

/// Reads the certificate in a file.
///
/// # Errors
/// If it cannot be read or is no certificate.
pub(crate) fn certificate(path: &Path) -> Result<Certificate, Failure> {
    serde_json::from_slice(&bytes(path)?).map_err(|error| in_file(path, &error))
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let fail = |source| Failure::Read {
        path: path.to_path_buf(),
        source,
    };
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(fail)?;
        return Ok(bytes);
    }
    fs::read(path).map_err(fail)
}

fn in_file(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::Input(format!("{}: {error}", path.display()))
}

/// What a study starts from: the built-in example, a schedule, or a profile.
///
/// # Errors
/// If the path names neither a schedule nor a profile.
pub(crate) fn study(
    path: Option<&Path>,
    step: Option<u32>,
    options: &Options,
) -> Result<Input, Failure> {
    let Some(path) = path else {
        let schedule = library::moe_layer().map_err(|error| Failure::Bug(error.to_string()))?;
        return from_schedule("moe-layer-serial", SourceKind::BuiltIn, schedule, options);
    };
    if is_schedule(path) {
        no_step(step)?;
        let name = path.display().to_string();
        return from_schedule(&name, SourceKind::Schedule, schedule(path)?, options);
    }
    crate::profile::study(path, step, options)
}

/// What can be drawn: a saved result, or what a study starts from.
#[derive(Debug)]
pub(crate) enum Drawable {
    /// The JSON of a what-if.
    Result(Box<WhatIf>),
    /// A schedule or profile.
    Study(Input),
}

/// Reads a result, a schedule or a profile.
///
/// # Errors
/// If the path names none of them.
pub(crate) fn drawable(
    path: &Path,
    step: Option<u32>,
    options: &Options,
) -> Result<Drawable, Failure> {
    if !is_schedule(path) {
        return crate::profile::study(path, step, options).map(Drawable::Study);
    }
    if step.is_some() {
        let why = "--step chooses a step of a profile, but the input is no profile";
        return Err(Failure::Input(why.to_owned()));
    }
    #[derive(serde::Deserialize)]
    struct Head {
        format: String,
    }
    let bytes = bytes(path)?;
    // A schedule says itself what is wrong with it, and may be binary.
    let format = serde_json::from_slice(&bytes).map_or(String::new(), |head: Head| head.format);
    if format == WhatIf::FORMAT {
        let result = serde_json::from_slice(&bytes).map_err(|error| in_file(path, &error))?;
        return Ok(Drawable::Result(result));
    }
    if format.starts_with("ascsim.") && !format.starts_with("ascsim.schedule/") {
        let why = format!(
            "{}: a file of format `{format}` cannot be drawn; give a schedule, a profile, or the \
             output of `ascsim what-if --json`",
            path.display()
        );
        return Err(Failure::Input(why));
    }
    let schedule = format::read(&bytes).map_err(|error: ReadError| in_file(path, &error))?;
    let name = path.display().to_string();
    from_schedule(&name, SourceKind::Schedule, schedule, options).map(Drawable::Study)
}

/// Whether a path names a schedule file: standard input or a pipe, which can be read only once, or a
/// file that starts as one does. What else there is is left to the readers of profiles.
fn is_schedule(path: &Path) -> bool {
    if path == Path::new("-") {
        return true;
    }
    let Ok(found) = fs::metadata(path) else {
        return false;
    };
    if !found.is_file() {
        return !found.is_dir();
    }
    let Ok(mut file) = fs::File::open(path) else {
        return false;
    };
    let mut head = [0_u8; 256];
    // A folder opens, but does not read.
    let Ok(read) = file.read(&mut head) else {
        return false;
    };
    let head = &head[..read];
    head.starts_with(&format::MAGIC)
        || head.trim_ascii_start().starts_with(b"{")
            && head.windows(8).any(|window| window == b"\"format\"")
}

fn from_schedule(
    path: &str,
    kind: SourceKind,
    schedule: Schedule,
    options: &Options,
) -> Result<Input, Failure> {
    let content = content_hash(&schedule).to_string();
    let variant = Variant {
        reading: String::new(),
        schedule,
        options: options.clone(),
    };
    Ok(Input {
        source: Source {
            path: path.to_owned(),
            kind,
            content,
        },
        variants: vec![variant],
        notes: Vec::new(),
    })
}
