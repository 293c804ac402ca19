//! `ascsim replay`.

use ascsim_sim::attribute::{Delays, Fitted, Replay, replay};
use serde::Serialize;

use crate::args::Replay as Arguments;
use crate::failure::{DONE, Failure};
use crate::output::{Target, write_json};
use crate::{profile, text};

#[derive(Serialize)]
struct Replays<'a> {
    format: &'static str,
    tool: &'static str,
    observed_delays: &'a Replay,
    no_delays: &'a Replay,
    fitted: &'a Fitted,
}

/// Simulates what profiles show, with the observed delays and without, and compares with the recorded
/// starts.
pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let recovered = profile::recovered(&arguments.paths, arguments.step)?;
    let observed = replay(&recovered, Delays::Observed).map_err(Failure::input)?;
    let none = replay(&recovered, Delays::None).map_err(Failure::input)?;
    let fitted = ascsim_studies::fitted(&recovered).map_err(Failure::input)?;
    let perturbed = recovered
        .seen
        .iter()
        .any(|rank| rank.perturbed == Some(true));
    Target::Stdout.write(|out| {
        if arguments.json {
            let replays = Replays {
                format: "ascsim.replay/1",
                tool: concat!("ascsim ", env!("CARGO_PKG_VERSION")),
                observed_delays: &observed,
                no_delays: &none,
                fitted: &fitted,
            };
            return write_json(out, &replays);
        }
        out.write_all(text::profile::replay(&observed, &none).as_bytes())?;
        out.write_all(text::profile::fitted(&fitted, perturbed).as_bytes())
    })?;
    Ok(DONE)
}
