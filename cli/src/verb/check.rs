//! `ascsim check`.

use std::path::Path;

use ascsim_check::{Report, Rule, Target as Device, certificate, check, repair, sarif};
use ascsim_hwmodels::{Catalogue, Kind, Model, Selection};
use ascsim_schedules::Schedule;
use ascsim_schedules::format::{self, Encoding};

use crate::args::{Check, CheckFormat};
use crate::failure::{DONE, FINDINGS, Failure};
use crate::output::{Target, write_json};
use crate::{input, text};

/// Checks a schedule, or the one that a profile shows. Findings of severity error are a finding.
pub(crate) fn run(arguments: &Check) -> Result<u8, Failure> {
    if let Some(code) = &arguments.explain {
        return explain(code);
    }
    let Some(path) = &arguments.path else {
        return Err(Failure::Input(
            "name a schedule or a profile to check".to_owned(),
        ));
    };
    let targets = Targets::new(arguments)?;
    let schedule = input::schedule_or_profile(path, arguments.step)?;
    let device = device(&arguments.hw)?;
    let (schedule, report) = match &targets.fix {
        Some(target) => mended(&schedule, &device, target)?,
        None => {
            let report = check(&schedule, &device).map_err(Failure::input)?;
            (schedule, report)
        }
    };
    if let Some(target) = &targets.certificate {
        certify(&schedule, &report, &device, target)?;
    }
    // A file on standard output has it for itself.
    if !targets.uses_stdout() {
        let uri = path.display().to_string();
        Target::Stdout.write(|out| match targets.format {
            CheckFormat::Json => write_json(out, &report),
            CheckFormat::Sarif => write_json(out, &sarif(&report, &uri)),
            CheckFormat::Text => out.write_all(text::check::text(&report).as_bytes()),
        })?;
    }
    Ok(if report.has_errors() { FINDINGS } else { DONE })
}

/// Where the files go. Checked before the work, so that a long run does not end in a refusal.
struct Targets {
    format: CheckFormat,
    fix: Option<Target>,
    certificate: Option<Target>,
}

impl Targets {
    fn new(arguments: &Check) -> Result<Self, Failure> {
        let target = |path: &Option<std::path::PathBuf>| {
            let target = path.as_ref().map(|path| Target::new(path, arguments.force));
            target.iter().try_for_each(Target::check).map(|()| target)
        };
        let targets = Self {
            format: match arguments.json {
                true => CheckFormat::Json,
                false => arguments.format,
            },
            fix: target(&arguments.fix)?,
            certificate: target(&arguments.certify)?,
        };
        let stdout = Some(Target::Stdout);
        if targets.fix == stdout && targets.certificate == stdout {
            let why = "only one thing fits on standard output: write the other to a file";
            return Err(Failure::Input(why.to_owned()));
        }
        Ok(targets)
    }

    fn uses_stdout(&self) -> bool {
        let stdout = Some(Target::Stdout);
        self.fix == stdout || self.certificate == stdout
    }
}

/// The schedule with what can be mended mended, and its report.
fn mended(
    schedule: &Schedule,
    device: &Device,
    target: &Target,
) -> Result<(Schedule, Report), Failure> {
    let repaired = repair(schedule, device).map_err(Failure::input)?;
    let bytes = format::to_bytes(&repaired.schedule, Encoding::Json)
        .map_err(|error| Failure::Bug(error.to_string()))?;
    target.write(|out| out.write_all(&bytes))?;
    Ok((repaired.schedule, repaired.report))
}

/// Writes the certificate of a schedule without errors; of another, none.
fn certify(
    schedule: &Schedule,
    report: &Report,
    device: &Device,
    target: &Target,
) -> Result<(), Failure> {
    if report.has_errors() {
        anstream::eprintln!("no certificate is written: the schedule is not to be run");
        return Ok(());
    }
    let certificate = certificate(schedule, report, device);
    target.write(|out| write_json(out, &certificate))
}

/// The device that `--hw` names: a machine or a chip among the profiles, or a profile file.
fn device(name: &str) -> Result<Device, Failure> {
    let mut catalogue = Catalogue::built_in().map_err(|error| Failure::Bug(error.to_string()))?;
    let name = match name.ends_with(".toml") {
        true => catalogue
            .add_file(Path::new(name))
            .map_err(Failure::input)?,
        false => name.to_owned(),
    };
    let mut selection = Selection::default();
    match catalogue.get(Kind::Chip, &name, "--hw") {
        Ok(_) => selection.chip = Some(name.clone()),
        Err(_) => selection.machine.clone_from(&name),
    }
    let model = Model::new(&catalogue, &selection).map_err(Failure::input)?;
    Ok(Device {
        profile: name,
        // As `aclrtGetSocName` writes it: Ascend910_9391, Ascend910B1.
        device_class: format!("Ascend{}", model.soc.replace('b', "B")),
        limits: model.limits(),
    })
}

fn explain(code: &str) -> Result<u8, Failure> {
    let Some(rule) = Rule::parse(code) else {
        let known: Vec<&str> = Rule::ALL.iter().map(|rule| rule.code()).collect();
        let known = known.join(", ");
        return Err(Failure::Input(format!(
            "there is no rule `{code}`; there are {known}"
        )));
    };
    Target::Stdout.write(|out| out.write_all(text::check::explanation(rule).as_bytes()))?;
    Ok(DONE)
}
