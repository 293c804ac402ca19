//! Op lists: the kernels, copies, events and collectives that a serving stack issues for a part of a
//! model, from `models/lists/*.toml`. docs/gen.md explains the columns.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::GenerateError;

/// One op of a part. Exactly one of `kernel`, `copy`, `collective`, `record`, `wait` and `external`
/// says what it is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Line {
    /// Operator type of a kernel.
    pub kernel: String,
    /// Direction of a copy: `h2d`, `d2h` or `d2d`.
    pub copy: String,
    /// Kind of a collective, as in schedule files.
    pub collective: String,
    /// Event to record.
    pub record: String,
    /// Event to wait for.
    pub wait: String,
    /// External event to wait for and reset; the host records it after it has updated the kernel
    /// `updates` that follows.
    pub external: String,
    pub updates: String,
    /// Module, for the tag and for the names of weights.
    pub at: String,
    /// Engine of a kernel: `aic`, `aiv`, `mix`, `aicpu`, `all_aiv` (every vector core at once) or
    /// `all` (every core).
    pub on: String,
    /// Buffers read and written, separated by spaces: `x`, `x@bytes` (some of its bytes),
    /// `w:bytes` (a weight of this module), `table:size@bytes` (some bytes of a weight).
    pub reads: String,
    pub writes: String,
    /// Rows, inner and outer dimension of a matmul with a weight.
    pub matmul: Option<[String; 3]>,
    /// Number format of the weight of a matmul: `int8` or `fp32`; BF16 if empty.
    pub weight: String,
    /// Whether the weight is that of the routed experts, of which `D` are read.
    pub experts: bool,
    /// Cube operations of a kernel without `matmul`.
    pub cube: String,
    /// Vector operations, if not one per 2 bytes written.
    pub vector: String,
    /// Number format on the cube cores, if not that of the weight.
    pub dtype: String,
    /// Communicator and bytes of a collective or of a kernel that communicates, and what the kernel
    /// does.
    pub over: String,
    pub bytes: String,
    pub comm: String,
    /// Stream, if not the main one. `side` is the main one unless experts overlap.
    pub stream: String,
    /// Condition, and how often.
    pub when: String,
    pub times: String,
    /// Whether compiling for static shapes does not change it (triton, ATB and direct launches).
    pub fixed: bool,
    /// Whether it stays dynamic when kernels are compiled for static shapes.
    pub always_dynamic: bool,
    /// Whether the host waits for a copy.
    pub blocking: bool,
}

/// A part: consecutive ops of a layer or step.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    pub name: String,
    /// For people; nothing reads it.
    #[serde(rename = "source")]
    _source: String,
    pub ops: Vec<Line>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    buffers: BTreeMap<String, String>,
    #[serde(default)]
    state: BTreeMap<String, String>,
    part: Vec<Part>,
}

/// All lists.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    files: Vec<(&'static str, File)>,
}

/// A part with the buffers of its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartOf<'a> {
    pub part: &'a Part,
    /// Name of the file, for messages.
    pub file: &'static str,
    own: &'a File,
    common: &'a File,
}

impl PartOf<'_> {
    /// The size of a buffer, and whether each layer has one of its own.
    pub(super) fn buffer(&self, name: &str) -> Option<(&str, bool)> {
        let activation = [self.own, self.common]
            .iter()
            .find_map(|file| file.buffers.get(name));
        match activation {
            Some(size) => Some((size, false)),
            None => self.own.state.get(name).map(|size| (size.as_str(), true)),
        }
    }
}

const FILES: &[(&str, &str)] = &[
    ("common", include_str!("../../models/lists/common.toml")),
    (
        "gated-delta",
        include_str!("../../models/lists/gated-delta.toml"),
    ),
    (
        "attention",
        include_str!("../../models/lists/attention.toml"),
    ),
    ("experts", include_str!("../../models/lists/experts.toml")),
    ("mla", include_str!("../../models/lists/mla.toml")),
    ("draft", include_str!("../../models/lists/draft.toml")),
];

impl Lists {
    pub(super) fn read() -> Result<Self, GenerateError> {
        let read = |(name, text): &(&'static str, &str)| {
            let file = toml::from_str(text).map_err(|error| GenerateError::Data {
                file: format!("models/lists/{name}.toml"),
                what: error.to_string(),
            })?;
            Ok::<_, GenerateError>((*name, file))
        };
        let files = FILES.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { files })
    }

    /// The part `name`.
    pub(super) fn part(&self, name: &str) -> Result<PartOf<'_>, GenerateError> {
        let missing = || GenerateError::Data {
            file: "models/lists".to_owned(),
            what: format!("no part is called `{name}`"),
        };
        let (_, common) = self.files.first().ok_or_else(missing)?;
        for (file, own) in &self.files {
            if let Some(part) = own.part.iter().find(|part| part.name == name) {
                return Ok(PartOf {
                    part,
                    file,
                    own,
                    common,
                });
            }
        }
        Err(missing())
    }
}
