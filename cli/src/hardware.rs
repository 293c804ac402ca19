//! Hardware profiles that the user names.

use std::path::Path;

use ascsim_hwmodels::{Catalogue, Kind, Model, Selection};

use crate::failure::Failure;

/// The built-in profiles.
///
/// # Errors
/// Never in a released build.
pub(crate) fn catalogue() -> Result<Catalogue, Failure> {
    Catalogue::built_in().map_err(|error| Failure::Bug(error.to_string()))
}

/// The name of a profile, which is read from its file if that is what the user named.
///
/// # Errors
/// If the file cannot be read or is no valid profile.
pub(crate) fn add(catalogue: &mut Catalogue, profile: &str) -> Result<String, Failure> {
    let path = Path::new(profile);
    let known = catalogue.profiles().any(|known| known.name == profile);
    if known || !(path.exists() || profile.ends_with(".toml")) {
        return Ok(profile.to_owned());
    }
    catalogue.add_file(path).map_err(Failure::input)
}

/// The model of a machine, chip and software stack, each named or the default.
///
/// # Errors
/// If a profile is unknown, or two of a kind are named.
pub(crate) fn model(profiles: &[String]) -> Result<Model, Failure> {
    let mut catalogue = catalogue()?;
    let mut names = Vec::new();
    for profile in profiles {
        names.push(add(&mut catalogue, profile)?);
    }
    let mut selection = Selection::default();
    let mut kinds = Vec::new();
    for name in names {
        // An unknown name is looked for among machines, whose list the refusal gives.
        let kind = catalogue.profiles().find(|profile| profile.name == name);
        let kind = kind.map_or(Kind::Machine, |profile| profile.kind);
        if kinds.contains(&kind) {
            let why = format!("--hw names two profiles of kind {kind}; one of each kind is enough");
            return Err(Failure::Input(why));
        }
        kinds.push(kind);
        match kind {
            Kind::Machine => selection.machine = name,
            Kind::Chip => selection.chip = Some(name),
            Kind::Stack => selection.stack = name,
            Kind::Link => {
                let why =
                    format!("`{name}` is a link; --hw takes a machine, a chip or a software stack");
                return Err(Failure::Input(why));
            }
        }
    }
    Model::new(&catalogue, &selection).map_err(Failure::input)
}
