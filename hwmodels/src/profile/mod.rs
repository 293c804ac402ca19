//! Profiles: files of parameters, one per chip, link, machine or software stack.

mod catalogue;
mod read;

use std::collections::BTreeMap;

use serde::Serialize;

pub use catalogue::Catalogue;

use crate::{Kind, Parameter, ParameterId, Unit};

/// The levels of a machine, each of which has a link.
pub(crate) const LEVELS: [&str; 5] = ["package", "server", "pod", "cluster", "host"];

/// A profile as its file gives it: what it extends is not filled in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// Its name, unique in a catalogue.
    pub name: String,
    /// What it describes.
    pub kind: Kind,
    /// One sentence about it.
    pub about: String,
    /// The profile of the same kind whose numbers it takes over where it gives none.
    pub extends: Option<String>,
    /// Chip: the name of the SoC series (`910_93` for 910C, `910b`), on which HCCL's choices depend.
    pub soc: Option<String>,
    /// Machine: the chip profile it is built of, unless another is chosen.
    pub chip: Option<String>,
    /// Machine: the link profile of each level (`package`, `server`, `pod`, `cluster`, `host`).
    pub links: BTreeMap<String, String>,
    /// Its numbers by full name. A link's are named `link.bytes_per_s` and so on: at which level it
    /// serves is the machine's business.
    pub parameters: BTreeMap<String, Parameter>,
    /// The file it was read from, as it was named.
    pub file: String,
}

/// The full names and units of the numbers that a profile of `kind` holds, in order.
pub(crate) fn fields(kind: Kind) -> Vec<(String, Unit)> {
    let ids = ParameterId::ALL.iter().filter(|id| id.kind() == kind);
    match kind {
        // All levels have the same fields.
        Kind::Link => ids
            .filter(|id| id.group() == "link.package")
            .map(|id| (format!("link.{}", id.field()), id.unit()))
            .collect(),
        _ => ids.map(|id| (id.name().to_owned(), id.unit())).collect(),
    }
}
