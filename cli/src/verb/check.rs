//! `ascsim check`.

use std::path::Path;

use ascsim_check::{Report, Rule, Target as Device, check};
use ascsim_hwmodels::{Catalogue, Kind, Model, Selection};
use ascsim_schedules::Schedule;

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
    let schedule = input::schedule_or_profile(path, arguments.step)?;
    let device = device(&arguments.hw)?;
    let report = checked(&schedule, &device)?;
    let format = match arguments.json {
        true => CheckFormat::Json,
        false => arguments.format,
    };
    Target::Stdout.write(|out| match format {
        CheckFormat::Json => write_json(out, &report),
        CheckFormat::Text => out.write_all(text::check::text(&report).as_bytes()),
    })?;
    Ok(if report.has_errors() { FINDINGS } else { DONE })
}

fn checked(schedule: &Schedule, device: &Device) -> Result<Report, Failure> {
    check(schedule, device).map_err(Failure::input)
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
