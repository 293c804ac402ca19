//! The profiles there are: those built in, and those of the user.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{Profile, fields};
use crate::{Kind, ProfileError};

macro_rules! built_in {
    ($($file:literal)*) => {
        &[$(($file, include_str!(concat!("../../data/", $file)))),*]
    };
}

const BUILT_IN: &[(&str, &str)] = built_in! {
    "910c-752t.toml" "910c-560t.toml" "910b1.toml" "910b2.toml" "910b3.toml" "910b4.toml"
    "sio.toml" "ub.toml" "ub-pod.toml" "hccs-a2.toml" "roce.toml" "pcie.toml" "ub-host.toml"
    "910c-package.toml" "a3-server.toml" "cloudmatrix384.toml" "a2-server.toml"
    "cann-9.0-vllm-ascend-0.23.toml" "cann-9.1-vllm-ascend-0.23.toml"
    "cann-9.0-vllm-ascend-0.22.toml" "cann-8.5-vllm-ascend-0.15.toml"
};

/// Profiles by name. The built-in ones first, then whatever the user adds.
#[derive(Clone, Debug)]
pub struct Catalogue {
    profiles: BTreeMap<String, Profile>,
}

impl Catalogue {
    /// The profiles that come with the tool.
    ///
    /// # Errors
    /// Never in a released build: a test reads every built-in profile.
    pub fn built_in() -> Result<Self, ProfileError> {
        let mut catalogue = Self {
            profiles: BTreeMap::new(),
        };
        for (file, text) in BUILT_IN {
            catalogue.add(Profile::read(file, text)?)?;
        }
        Ok(catalogue)
    }

    /// Adds a profile.
    ///
    /// # Errors
    /// If its name is taken, or it extends a profile that is missing, of another kind, or itself.
    pub fn add(&mut self, profile: Profile) -> Result<(), ProfileError> {
        if self.profiles.contains_key(&profile.name) {
            return Err(ProfileError::DuplicateName {
                file: profile.file,
                name: profile.name,
            });
        }
        if profile.extends.as_ref() == Some(&profile.name) {
            return Err(ProfileError::Circle {
                chain: format!("{0} -> {0}", profile.name),
                file: profile.file,
                name: profile.name,
            });
        }
        // What it extends is there already, so that a circle cannot come about.
        if let Some(base) = &profile.extends {
            self.get(profile.kind, base, &profile.file)?;
        }
        self.profiles.insert(profile.name.clone(), profile);
        Ok(())
    }

    /// Reads a profile from a file and adds it. Returns its name.
    ///
    /// # Errors
    /// As [`Profile::read`] and [`Self::add`], or if the file cannot be read.
    pub fn add_file(&mut self, path: &Path) -> Result<String, ProfileError> {
        let text = fs::read_to_string(path).map_err(|error| ProfileError::Read {
            path: path.to_path_buf(),
            error,
        })?;
        let profile = Profile::read(&path.display().to_string(), &text)?;
        let name = profile.name.clone();
        self.add(profile)?;
        self.resolve(&name)?;
        Ok(name)
    }

    /// All profiles, by name.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.values()
    }

    /// The profile of that kind and name, as its file gives it.
    ///
    /// # Errors
    /// If there is none; the message names `by`, who asks for it, and what there is.
    pub fn get(&self, kind: Kind, name: &str, by: &str) -> Result<&Profile, ProfileError> {
        match self.profiles.get(name) {
            Some(profile) if profile.kind == kind => Ok(profile),
            _ => Err(self.unknown(kind, name, by)),
        }
    }

    fn unknown(&self, kind: Kind, name: &str, by: &str) -> ProfileError {
        let known: Vec<_> = self
            .profiles
            .values()
            .filter(|profile| profile.kind == kind)
            .map(|profile| profile.name.as_str())
            .collect();
        ProfileError::UnknownProfile {
            by: by.to_owned(),
            kind,
            name: name.to_owned(),
            known: known.join(", "),
        }
    }

    /// The profile of that name with everything filled in that it takes over from those it extends.
    ///
    /// # Errors
    /// If there is none, or if numbers or links are missing: the message names each.
    pub fn resolve(&self, name: &str) -> Result<Profile, ProfileError> {
        let Some(profile) = self.profiles.get(name) else {
            // Any kind would do: list the profiles of all.
            let known: Vec<_> = self.profiles.keys().map(String::as_str).collect();
            return Err(ProfileError::UnknownProfile {
                by: "the request".to_owned(),
                kind: Kind::Chip,
                name: name.to_owned(),
                known: known.join(", "),
            });
        };
        let mut resolved = profile.clone();
        let mut base = profile.extends.as_deref();
        while let Some(name) = base {
            let from = self.get(profile.kind, name, &profile.file)?;
            for (name, parameter) in &from.parameters {
                if !resolved.parameters.contains_key(name) {
                    resolved.parameters.insert(name.clone(), parameter.clone());
                }
            }
            for (level, link) in &from.links {
                if !resolved.links.contains_key(level) {
                    resolved.links.insert(level.clone(), link.clone());
                }
            }
            resolved.soc = resolved.soc.or_else(|| from.soc.clone());
            resolved.chip = resolved.chip.or_else(|| from.chip.clone());
            base = from.extends.as_deref();
        }
        let missing = missing(&resolved);
        if missing.is_empty() {
            Ok(resolved)
        } else {
            Err(ProfileError::MissingFields {
                file: profile.file.clone(),
                fields: missing,
            })
        }
    }
}

fn missing(profile: &Profile) -> Vec<String> {
    let mut missing = Vec::new();
    if profile.kind == Kind::Chip && profile.soc.is_none() {
        missing.push("soc".to_owned());
    }
    if profile.kind == Kind::Machine {
        if profile.chip.is_none() {
            missing.push("chip".to_owned());
        }
        for level in super::LEVELS {
            if !profile.links.contains_key(level) {
                missing.push(format!("links.{level}"));
            }
        }
    }
    for (name, _) in fields(profile.kind) {
        if !profile.parameters.contains_key(&name) {
            missing.push(name);
        }
    }
    missing
}
