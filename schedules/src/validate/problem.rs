//! What can be wrong with a schedule.

use std::fmt;

use smol_str::SmolStr;

use crate::ir::{EvalError, Memory};
use crate::path::{At, JsonPath};

/// Why a document is refused: everything that is wrong with it, up to [`Invalid::LIMIT`] problems.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Invalid {
    /// The problems in the order of the file.
    pub problems: Vec<Problem>,
    /// How many more there are.
    pub more: usize,
}

impl Invalid {
    /// How many problems are kept.
    pub const LIMIT: usize = 100;

    /// `Ok` if nothing is wrong.
    pub(crate) fn or_ok(self) -> Result<(), Self> {
        if self.problems.is_empty() {
            Ok(())
        } else {
            Err(self)
        }
    }

    /// Adds a problem at `at`.
    pub(crate) fn push(&mut self, at: &At<'_>, kind: ProblemKind) {
        if self.problems.len() < Self::LIMIT {
            self.problems.push(Problem {
                path: at.path(),
                subject: at.subject(),
                offset: None,
                kind,
            });
        } else {
            self.more += 1;
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}{problem}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Invalid {}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Where in the JSON form.
    pub path: JsonPath,
    /// The op or declaration by name: `program/op`, `program/group/task`, or a name; empty for
    /// what has none.
    pub subject: String,
    /// Where in the file, in bytes, if it was read from JSON. Where the field itself is absent: its
    /// object.
    pub offset: Option<u64>,
    /// What is wrong.
    pub kind: ProblemKind,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        if !self.subject.is_empty() {
            write!(f, " (`{}`)", self.subject)?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        write!(f, ": {}", self.kind)
    }
}

/// What ops refer to by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the variants are the nouns of the IR")]
pub enum Noun {
    Variable,
    Buffer,
    Stream,
    Event,
    Notify,
    Communicator,
    Program,
    Op,
    Task,
    Thread,
}

impl fmt::Display for Noun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Variable => "variable",
            Self::Buffer => "buffer",
            Self::Stream => "stream",
            Self::Event => "event",
            Self::Notify => "notify",
            Self::Communicator => "communicator",
            Self::Program => "program",
            Self::Op => "op",
            Self::Task => "task",
            Self::Thread => "thread",
        })
    }
}

/// What is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the fields are the values that the message of the variant shows"
)]
pub enum ProblemKind {
    /// A name without a letter.
    #[error("the {0} has an empty name; give it one")]
    EmptyName(Noun),
    /// Two of a kind with one name.
    #[error("there are two of {noun} `{name}`; rename one of them")]
    Duplicate { noun: Noun, name: SmolStr },
    /// A name that nothing declares.
    #[error("{noun} `{name}` is not declared; declare it or correct the name")]
    Undeclared { noun: Noun, name: SmolStr },
    /// An expression without a value.
    #[error("no nominal value: {0}")]
    NoValue(#[from] EvalError),
    /// A value below or above what it may be.
    #[error("the nominal value is {value}; it must be from 0 to {most}")]
    OutOfRange { value: f64, most: f64 },
    /// A variable or its distribution makes no sense.
    #[error("{0}")]
    Variable(&'static str),
    /// A view that does not fit.
    #[error(
        "bytes {offset} to {end} are not inside the {size} bytes of buffer `{buffer}`; \
         move or shorten them, or enlarge the buffer"
    )]
    OutsideBuffer {
        buffer: SmolStr,
        size: u64,
        offset: u64,
        end: u128,
    },
    /// Views of each other, or too many of them.
    #[error("buffer `{0}` is a view of itself, or of views more than 64 deep; name its root")]
    ViewTooDeep(SmolStr),
    /// A view in other memory than its root.
    #[error("a view lives where its root does, which is {root:?}, not {view:?}; repeat it")]
    ViewMemory { root: Memory, view: Memory },
    /// An allocation of a view.
    #[error("buffer `{0}` is a view, which has no memory of its own; name its root")]
    NotARoot(SmolStr),
    /// A word that is not aligned.
    #[error("the word at byte {0} of its root is not aligned; use a multiple of 8")]
    Misaligned(u64),
    /// A word in host memory.
    #[error("buffer `{0}` is in host memory; a value lives in HBM")]
    NotInHbm(SmolStr),
    /// A priority that does not exist.
    #[error("priority {0} does not exist; use 0 (greatest) to 7 (least)")]
    Priority(u8),
    /// Two default streams.
    #[error("stream `{0}` is the default stream already, and a device has one; declare it once")]
    SecondDefault(SmolStr),
    /// An op that needs a stream has none.
    #[error("`{0}` runs on a stream; name one")]
    NoStream(&'static str),
    /// An op has a field that its kind does not use.
    #[error("`{kind}` has no `{field}`; remove it")]
    UnusedField {
        field: &'static str,
        kind: &'static str,
    },
    /// A field that must be there is not.
    #[error("`{kind}` needs `{field}`; add it")]
    MissingField {
        field: &'static str,
        kind: &'static str,
    },
    /// An event of the wrong kind.
    #[error("event `{0}` is not `external`; only such an event is recorded from outside a graph")]
    NotExternal(SmolStr),
    /// A task of a group that cannot be one.
    #[error("`{0}` cannot be in a group; move it out")]
    TaskKind(&'static str),
    /// A group without tasks.
    #[error("it has no tasks; remove it or give it some")]
    NoTasks,
    /// A task that names another thread.
    #[error("a task is issued by the thread of its group; remove its `thread`")]
    TaskThread,
    /// A dependency that is no earlier task.
    #[error("`{0}` is not a task earlier in this group; correct the name or the order")]
    NotEarlier(SmolStr),
    /// A graph launch or task update of an ordinary program.
    #[error("program `{0}` is not captured; set its `capture` or use `repeat`")]
    NotCaptured(SmolStr),
    /// A captured program that is run directly.
    #[error("program `{0}` is captured, so only a `graph_launch` runs it")]
    Captured(SmolStr),
    /// Programs that run each other.
    #[error("program `{0}` runs itself: {1}; break the circle")]
    Recursive(SmolStr, String),
    /// Programs nested too deeply.
    #[error("programs are nested more than {0} deep; flatten some")]
    TooDeep(usize),
    /// More op instances than any tool can take.
    #[error("a rank would run more than {0} ops; repeat less")]
    TooManyOps(u64),
    /// Ranks beyond the last possible one, or more than any tool can take.
    #[error("ranks {first} + {count} go beyond {most}; use fewer or smaller ones")]
    TooManyRanks { first: u32, count: u32, most: u32 },
    /// A rank group without ranks.
    #[error("it has no ranks; remove it or set `count`")]
    NoRanks,
    /// A rank in two rank groups.
    #[error("rank {0} is in an earlier group too; keep it in one")]
    RankTwice(u32),
    /// A rank that no rank group has.
    #[error("rank {0} is not under `ranks`; add it or correct the number")]
    UnknownRank(u32),
    /// Not one device for each rank.
    #[error("{devices} devices for {ranks} ranks; give one for each rank or none at all")]
    DeviceCount { devices: usize, ranks: u32 },
    /// Two ranks on one die.
    #[error("rank {0} is on the same die as an earlier one; one die is one rank")]
    SharedDevice(u32),
    /// A communicator group without ranks.
    #[error("a group of a communicator has at least one rank")]
    EmptyGroup,
    /// A rank twice in a communicator.
    #[error("rank {0} is in this communicator twice; a rank is in at most one group")]
    MemberTwice(u32),
    /// Ranks use a communicator that they are not in.
    #[error(
        "ranks {first} to {last} run program `{program}`, which uses communicator \
         `{communicator}`, but not all of them are in it; add them to a group"
    )]
    NotMembers {
        first: u32,
        last: u32,
        program: SmolStr,
        communicator: SmolStr,
    },
    /// A rank uses a communicator that it is not in.
    #[error("rank {rank} is not in communicator `{communicator}`; add it to a group")]
    NotAMember { rank: u32, communicator: SmolStr },
    /// A position beyond the group.
    #[error("position {peer} does not exist in a group of {size} ranks of `{communicator}`")]
    NoSuchMember {
        peer: u32,
        size: usize,
        communicator: SmolStr,
    },
    /// An override of a rank outside its rank group.
    #[error("rank {0} is not in this group; move the override to the group of its rank")]
    OverrideElsewhere(u32),
    /// Overrides of a rank whose program is unknown.
    #[error("these ranks are external, so there is nothing to override; remove it")]
    OverrideExternal,
    /// Two overrides of one op on one rank.
    #[error("rank {rank} has two overrides of op `{op}`; merge them")]
    OverrideTwice { rank: u32, op: SmolStr },
    /// Times that run backwards, or a value outside its own range.
    #[error("{0}")]
    Times(&'static str),
    /// A text that is no hash.
    #[error("a hash is 64 hexadecimal digits")]
    NotAHash,
}
