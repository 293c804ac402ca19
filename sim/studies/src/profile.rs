//! A profile as the input of a study.
//!
//! What the schedule does not derive of an observed start stays as a delay, so that the unchanged
//! schedule takes as long as was recorded. A capture that the profiler itself disturbed is read twice:
//! with its gaps as recorded, and with gaps as they are without the disturbance. The second counts.

use ascsim_hwmodels::{Catalogue, Model, ProfileError, Reader, Selection};
use ascsim_schedules::flat::Flat;
use ascsim_schedules::hash::content_hash;
use ascsim_schedules::rewrite::Note;
use ascsim_sim::attribute::{
    self, Fitted, Parameters, ReplayError, attribute, clean_gaps, without_perturbation,
};
use ascsim_sim::{Gaps, Options, compile};
use ascsim_traces::recover::Recovered;

use crate::result::{Source, SourceKind};
use crate::what_if::{Input, Variant};

/// Why a profile is no input.
#[derive(Debug, thiserror::Error)]
pub enum ProfileInputError {
    /// The recovered schedule cannot be simulated.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The built-in software-stack profile is wrong.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// The parametric models fitted to recovered captures, beside the gaps of a run without disturbance.
///
/// # Errors
/// If the recovered schedule cannot be simulated.
///
/// # Complexity
/// That of [`attribute()`].
pub fn fitted(recovered: &Recovered) -> Result<Fitted, ProfileInputError> {
    Ok(Fitted::new(&Parameters::fit([recovered])?, &clean()?))
}

/// The gaps of a 910B without L2 counters.
fn clean() -> Result<Gaps, ProfileError> {
    let model = Model::new(&Catalogue::built_in()?, &Selection::default())?;
    let values = model.values();
    Ok(clean_gaps(&Reader::new(&values)))
}

/// What a study of recovered captures starts from. `path` is what the user named; of `machine`, the
/// engines, the die and the hardware model count, since gaps, latencies and host times come from the
/// capture.
///
/// # Errors
/// If the recovered schedule cannot be simulated.
///
/// # Complexity
/// That of [`attribute()`], and with [`EngineModel::Shared`](ascsim_sim::EngineModel::Shared) of
/// [`solo()`](attribute::solo()).
pub fn profile(
    path: &str,
    mut recovered: Recovered,
    machine: &Options,
) -> Result<Input, ProfileInputError> {
    let options = Options {
        engines: machine.engines,
        die: machine.die.clone(),
        limits: machine.limits.clone(),
        hardware: machine.hardware.clone(),
        ..Parameters::fit([&recovered])?.least()
    };
    let found = {
        let flat = Flat::new(&recovered.schedule).map_err(ReplayError::from)?;
        let compiled = compile(&flat, &options).map_err(ReplayError::from)?;
        attribute(&recovered, &compiled, &options)
    };
    let mut notes: Vec<Note> = recovered
        .summary
        .assumed
        .iter()
        .map(|assumed| Note::assumption(assumed.to_string()))
        .collect();
    for (kind, links) in &recovered.summary.links {
        let unsure = links.guessed + links.open + links.violated;
        if unsure > 0 {
            notes.push(Note::warning(format!(
                "of {} links of kind `{kind}`, {} are guessed, {} open and {} violated",
                links.total(),
                links.guessed,
                links.open,
                links.violated
            )));
        }
    }
    if !found.violations.is_empty() {
        notes.push(Note::warning(format!(
            "{} ops were observed earlier than the schedule allows: a link or a clock is wrong",
            found.violations.len()
        )));
    }
    attribute::apply(&mut recovered, &found);
    let freed = attribute::solo(&mut recovered, &options)?;
    if freed.kernels > 0 {
        notes.push(Note::assumption(format!(
            "{} kernels contended for cores as they were recorded: they are given the durations with \
             which the simulation takes as long, to within {} ns",
            freed.kernels, freed.left_ns
        )));
    }
    let source = Source {
        path: path.to_owned(),
        kind: SourceKind::Profile,
        content: content_hash(&recovered.schedule).to_string(),
    };
    let perturbed = recovered
        .seen
        .iter()
        .any(|rank| rank.perturbed == Some(true));
    let mut variants = vec![Variant {
        reading: if perturbed {
            "gaps as recorded".to_owned()
        } else {
            String::new()
        },
        schedule: recovered.schedule.clone(),
        options: options.clone(),
    }];
    if perturbed {
        let taken = without_perturbation(&mut recovered);
        notes.push(Note::warning(format!(
            "L2 counters were on while this was captured, which bends its gaps: {taken} of them are \
             taken out in the second answer, and gaps are those of a 910B without counters \
             (facts/traces.md 2.6)"
        )));
        let gaps = clean()?;
        variants.push(Variant {
            reading: "gaps of a run without L2 counters".to_owned(),
            schedule: recovered.schedule,
            options: Options { gaps, ..options },
        });
    }
    Ok(Input {
        source,
        variants,
        notes,
    })
}
