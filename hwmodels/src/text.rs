//! Profiles as text: the list, one profile, the difference of two, and the generated documentation.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::profile::fields;
use crate::{Catalogue, Kind, Parameter, ParameterId, Profile, ProfileError};

/// The profiles of a catalogue, for `hw list`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listing {
    /// One line per profile, by kind and name.
    pub profiles: Vec<Listed>,
}

/// A line of a [`Listing`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed {
    /// What it describes.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// One sentence about it.
    pub about: String,
    /// What it extends.
    pub extends: Option<String>,
}

impl Catalogue {
    /// The list of profiles, by kind and name.
    pub fn list(&self) -> Listing {
        let mut profiles: Vec<_> = self
            .profiles()
            .map(|profile| Listed {
                kind: profile.kind,
                name: profile.name.clone(),
                about: profile.about.clone(),
                extends: profile.extends.clone(),
            })
            .collect();
        profiles.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
        Listing { profiles }
    }

    /// A profile with everything filled in, for `hw show NAME`.
    ///
    /// # Errors
    /// If it is missing or incomplete.
    pub fn show(&self, name: &str) -> Result<Shown, ProfileError> {
        Ok(Shown {
            profile: self.resolve(name)?,
        })
    }

    /// How two profiles differ, for `hw diff A B`.
    ///
    /// # Errors
    /// If one is missing or incomplete, or they are of different kinds.
    pub fn diff(&self, a: &str, b: &str) -> Result<Difference, ProfileError> {
        let a = self.resolve(a)?;
        let b = self.resolve(b)?;
        self.get(
            a.kind,
            &b.name,
            &format!("the comparison with `{}`", a.name),
        )?;
        let mut texts = Vec::new();
        for (field, left, right) in [("soc", &a.soc, &b.soc), ("chip", &a.chip, &b.chip)] {
            if left != right {
                let text = |side: &Option<String>| side.clone().unwrap_or_default();
                texts.push((field.to_owned(), text(left), text(right)));
            }
        }
        for (level, left) in &a.links {
            if let Some(right) = b.links.get(level).filter(|&right| right != left) {
                texts.push((format!("links.{level}"), left.clone(), right.clone()));
            }
        }
        let numbers = numbers(&a)
            .filter_map(|(name, left)| {
                let right = b.parameters.get(&name)?;
                let differs =
                    (left.value, left.low, left.high) != (right.value, right.low, right.high);
                differs.then(|| (name, left.clone(), right.clone()))
            })
            .collect();
        Ok(Difference {
            a: a.name,
            b: b.name,
            texts,
            numbers,
        })
    }
}

/// The numbers of a resolved profile in the order of the parameter list.
fn numbers(profile: &Profile) -> impl Iterator<Item = (String, &Parameter)> {
    fields(profile.kind)
        .into_iter()
        .filter_map(|(name, _)| profile.parameters.get(&name).map(|number| (name, number)))
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self
            .profiles
            .iter()
            .map(|p| p.name.len())
            .max()
            .unwrap_or(0);
        let mut kind = None;
        for profile in &self.profiles {
            if kind != Some(profile.kind) {
                writeln!(f, "{}", profile.kind)?;
                kind = Some(profile.kind);
            }
            write!(f, "  {:width$}  {}", profile.name, profile.about)?;
            match &profile.extends {
                Some(base) => writeln!(f, " (extends {base})")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

/// A resolved profile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    /// The profile, everything it extends filled in.
    pub profile: Profile,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let profile = &self.profile;
        writeln!(f, "{} ({}): {}", profile.name, profile.kind, profile.about)?;
        let texts = [
            ("extends", &profile.extends),
            ("soc", &profile.soc),
            ("chip", &profile.chip),
        ];
        for (field, text) in texts {
            if let Some(text) = text {
                writeln!(f, "{field}: {text}")?;
            }
        }
        for (level, link) in &profile.links {
            writeln!(f, "links.{level}: {link}")?;
        }
        for (name, number) in numbers(profile) {
            writeln!(f, "{name} = {}", Brief(number))?;
            writeln!(f, "    {}, {}", number.confidence, number.source)?;
        }
        Ok(())
    }
}

/// How two profiles of one kind differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The first profile.
    pub a: String,
    /// The second profile.
    pub b: String,
    /// Texts that differ: field, first, second.
    pub texts: Vec<(String, String, String)>,
    /// Numbers whose value or range differ: name, first, second.
    pub numbers: Vec<(String, Parameter, Parameter)>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.texts.is_empty() && self.numbers.is_empty() {
            return writeln!(f, "{} and {} have the same numbers", self.a, self.b);
        }
        writeln!(f, "{} -> {}", self.a, self.b)?;
        for (field, a, b) in &self.texts {
            writeln!(f, "{field}: {a} -> {b}")?;
        }
        for (name, a, b) in &self.numbers {
            write!(f, "{name}: {} -> {}", Brief(a), Brief(b))?;
            if a.value > 0.0 {
                write!(f, " (x{:.3})", b.value / a.value)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// A number with its range and unit, without its source.
struct Brief<'a>(&'a Parameter);

impl fmt::Display for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let p = self.0;
        write!(f, "{} {}", Short(p.value), p.unit)?;
        if p.low < p.high {
            write!(f, " [{} .. {}]", Short(p.low), Short(p.high))?;
        }
        if !p.measured {
            f.write_str(" uncalibrated")?;
        }
        Ok(())
    }
}

/// A number without a row of zeros: `1.6e12`, `24`, `201326592`.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.abs() >= 1e9 && self.0 % 1e6 == 0.0 {
            write!(f, "{:e}", self.0)
        } else {
            write!(f, "{}", self.0)
        }
    }
}

/// The documentation of all parameters and built-in profiles as Markdown (`docs/hardware.md`).
///
/// # Errors
/// If a profile of the catalogue is incomplete.
pub fn markdown(catalogue: &Catalogue) -> Result<String, ProfileError> {
    let mut out = String::from(
        "# Hardware and software-stack profiles\n\n\
         Generated from `hwmodels/data/*.toml`; do not edit. `cargo test -p ascsim-hwmodels` says when it\n\
         is out of date, and `UPDATE_DOCS=1 cargo test -p ascsim-hwmodels --test docs` writes it again.\n\n\
         Confidence, best first: official (documentation, configuration or code of the vendor),\n\
         pull_request (measured, in a merged pull request), paper, measured (by the community or from a\n\
         capture), blog, inferred (derived from other numbers), assumed. A number marked *uncalibrated*\n\
         was measured by nobody: it is a named parameter with a range, and every answer that rests on it\n\
         says so. Sources named `facts/...` are the collected facts that the project was built from.\n\n\
         ## Parameters\n\n| parameter | unit | meaning |\n|---|---|---|\n",
    );
    for id in ParameterId::ALL {
        out += &format!("| `{}` | {} | {} |\n", id.name(), id.unit(), id.about());
    }
    let mut by_kind: BTreeMap<Kind, Vec<&Profile>> = BTreeMap::new();
    for profile in catalogue.profiles() {
        by_kind.entry(profile.kind).or_default().push(profile);
    }
    for (kind, profiles) in by_kind {
        out += &format!("\n## Profiles: {kind}\n");
        for profile in profiles {
            // What is missing is said here too, so that the page is never silently incomplete.
            catalogue.resolve(&profile.name)?;
            out += &format!("\n### {}\n\n{}\n", profile.name, profile.about);
            if let Some(base) = &profile.extends {
                out += &format!("Extends `{base}`; only what differs is listed.\n");
            }
            for (level, link) in &profile.links {
                out += &format!("- {level}: `{link}`\n");
            }
            out += "\n| parameter | value | range | unit | confidence | source |\n|---|---|---|---|---|---|\n";
            for (name, number) in numbers(profile) {
                let range = if number.low < number.high {
                    format!("{} .. {}", Short(number.low), Short(number.high))
                } else {
                    "exact".to_owned()
                };
                let guess = if number.measured {
                    ""
                } else {
                    ", *uncalibrated*"
                };
                out += &format!(
                    "| `{name}` | {} | {range} | {} | {}{guess} | {} |\n",
                    Short(number.value),
                    number.unit,
                    number.confidence,
                    number.source
                );
            }
        }
    }
    Ok(out)
}
