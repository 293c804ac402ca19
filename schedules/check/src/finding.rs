//! What is found, and what shows it.

use ascsim_schedules::Severity;
use ascsim_schedules::flat::{Flat, InstanceId};
use serde::Serialize;

use crate::fix::Edit;
use crate::rule::Rule;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The rule that found it.
    pub rule: Rule,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The ops it is about, the most telling first.
    pub ops: Vec<Place>,
    /// What shows it.
    #[serde(skip_serializing_if = "Witness::is_none")]
    pub witness: Witness,
    /// What would mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The changes of the schedule that `--fix` makes for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
    /// How often the same ops show it, over ranks and iterations; the finding tells the first.
    pub occurrences: usize,
}

impl Finding {
    /// A finding of `rule` with its severity, about nothing yet.
    pub(crate) fn new(rule: Rule, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.doc().severity,
            message: message.into(),
            ops: Vec::new(),
            witness: Witness::None,
            suggestion: None,
            edits: Vec::new(),
            occurrences: 1,
        }
    }

    pub(crate) fn about(
        mut self,
        flat: &Flat<'_>,
        ids: impl IntoIterator<Item = InstanceId>,
    ) -> Self {
        self.ops
            .extend(ids.into_iter().map(|id| Place::new(flat, id)));
        self
    }

    pub(crate) fn witness(mut self, witness: Witness) -> Self {
        self.witness = witness;
        self
    }

    pub(crate) fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    pub(crate) fn edits(mut self, edits: Vec<Edit>) -> Self {
        self.edits = edits;
        self
    }
}

/// Where an op is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// The rank; none for a rule that looks at a program as such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The program that holds the op.
    pub program: String,
    /// Its id there.
    pub op: String,
    /// Where it runs: ids from the rank's program inwards, with the iteration of each repeat.
    pub path: String,
    /// Its stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
}

impl Place {
    /// The place of an instance.
    pub(crate) fn new(flat: &Flat<'_>, id: InstanceId) -> Self {
        let instance = &flat[id];
        let stream = instance
            .stream
            .map(|stream| flat.stream(stream).stream.name.to_string());
        Self {
            rank: Some(instance.rank),
            program: instance.program.name.to_string(),
            op: instance.op.id.to_string(),
            path: flat.path(id),
            stream,
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`", self.path)?;
        if let Some(stream) = &self.stream {
            write!(f, " on stream `{stream}`")?;
        }
        match self.rank {
            Some(rank) => write!(f, " of rank {rank}"),
            None => Ok(()),
        }
    }
}

/// What shows a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Witness {
    /// The ops say it all.
    None,
    /// Each step waits for the next, and the last for the first.
    Cycle(Vec<Step>),
    /// Each step waits for the next; the last waits for something that does not come.
    Chain(Vec<Step>),
    /// The bytes that two ops share.
    Bytes {
        /// The root buffer.
        buffer: String,
        /// The rank whose instance it is.
        rank: u32,
        /// First byte, and one past the last.
        bytes: [u64; 2],
    },
    /// Who holds cores and who wants them.
    Cores(Vec<CoreClaim>),
    /// How much is used of how much there is.
    Budget {
        /// Of what.
        what: String,
        /// Used.
        used: u64,
        /// There is.
        limit: u64,
    },
}

impl Witness {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// One step of a chain of waiting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The op that waits.
    pub op: Place,
    /// Why it waits for the op of the next step.
    pub because: String,
}

/// Cores of one engine on one die that an op holds or wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CoreClaim {
    /// The op.
    pub op: Place,
    /// `aic` or `aiv`.
    pub engine: &'static str,
    /// How many.
    pub cores: u32,
    /// Of how many there are.
    pub of: u32,
    /// Whether it holds them; otherwise it waits for them.
    pub holds: bool,
}
