//! Selectors: which ops a change or a question is about.
//!
//! A selector is a list of terms separated by white space; an op must match all of them.
//!
//! ```text
//! selector = term { white-space term }
//! term     = ["!"] key "=" pattern { "|" pattern }
//! pattern  = text with `*` (any text) and `?` (any one character), or "quoted text"
//! ```
//!
//! `layer=12 module=moe.shared.*` matches the ops that carry both tags; `kind=kernel !name=MatMul*`
//! matches every other kernel. Keys:
//!
//! | key | matches |
//! |---|---|
//! | `id` | the op's id |
//! | `kind` | the kind as in a file: `kernel`, `copy`, `wait`, `host`, … |
//! | `name` | the operator type of a kernel, the name of a super kernel, the kind of a collective |
//! | `stream`, `thread`, `program` | where it is |
//! | `event`, `notify` | the event or notify it records, waits for, resets or synchronises with |
//! | `buffer` | any buffer it accesses, allocates, frees or prefetches |
//! | `communicator`, `collective` | its communication: communicator, kind |
//! | any other | the tag of that name; `tag.name` for a tag that is called like a key above |

use std::fmt;
use std::str::FromStr;

use crate::ir::{HostKind, Op, OpKind, Program, SyncTarget};

/// A condition on ops. The [module](self) has the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    text: String,
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    negated: bool,
    key: Key,
    patterns: Vec<Pattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Key {
    Id,
    Kind,
    Name,
    Stream,
    Thread,
    Program,
    Event,
    Notify,
    Buffer,
    Communicator,
    Collective,
    Tag(String),
}

/// A pattern as a list of characters and wildcards.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern(Vec<Glob>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Glob {
    Char(char),
    One,
    Any,
}

/// Why a text is not a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {position} of the selector: {problem}")]
pub struct SelectorError {
    /// Where, counted in characters from 1.
    pub position: usize,
    /// What is wrong, and what is expected.
    pub problem: String,
}

impl Selector {
    /// Whether `op` of `program` meets every term.
    ///
    /// # Complexity
    /// O(length of the patterns × length of the texts compared).
    pub fn matches(&self, program: &Program, op: &Op) -> bool {
        self.terms.iter().all(|term| term.matches(program, op))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let chars: Vec<char> = text.chars().collect();
        let mut terms = Vec::new();
        let mut at = 0;
        loop {
            while chars.get(at).is_some_and(|c| c.is_whitespace()) {
                at += 1;
            }
            if at == chars.len() {
                break;
            }
            terms.push(term(&chars, &mut at)?);
        }
        if terms.is_empty() {
            return Err(SelectorError {
                position: 1,
                problem: "it is empty; `id=*` matches every op".to_owned(),
            });
        }
        Ok(Self {
            text: text.trim().to_owned(),
            terms,
        })
    }
}

/// Reads one term from `at` on.
fn term(chars: &[char], at: &mut usize) -> Result<Term, SelectorError> {
    let error = |position: usize, problem: String| SelectorError {
        position: position + 1,
        problem,
    };
    let negated = chars.get(*at) == Some(&'!');
    *at += usize::from(negated);
    let start = *at;
    while chars
        .get(*at)
        .is_some_and(|c| !c.is_whitespace() && *c != '=')
    {
        *at += 1;
    }
    let key: String = chars[start..*at].iter().collect();
    if chars.get(*at) != Some(&'=') || key.is_empty() {
        return Err(error(start, format!("expected key=pattern, found `{key}`")));
    }
    *at += 1;
    let mut patterns = Vec::new();
    loop {
        let start = *at;
        let pattern =
            pattern(chars, at).ok_or_else(|| error(start, "the quote is not closed".to_owned()))?;
        if pattern.0.is_empty() && start == *at {
            return Err(error(
                start,
                format!("`{key}=` lacks a pattern; `*` matches anything"),
            ));
        }
        patterns.push(pattern);
        match chars.get(*at) {
            Some('|') => *at += 1,
            Some(c) if !c.is_whitespace() => {
                return Err(error(
                    *at,
                    "expected white space or `|` after a quote".to_owned(),
                ));
            }
            _ => break,
        }
    }
    Ok(Term {
        negated,
        key: Key::new(&key),
        patterns,
    })
}

/// Reads one pattern; `None` if a quote is not closed.
fn pattern(chars: &[char], at: &mut usize) -> Option<Pattern> {
    if chars.get(*at) == Some(&'"') {
        let start = *at + 1;
        let end = start + chars[start..].iter().position(|c| *c == '"')?;
        *at = end + 1;
        return Some(Pattern(
            chars[start..end].iter().map(|c| Glob::Char(*c)).collect(),
        ));
    }
    let mut globs = Vec::new();
    while let Some(&c) = chars.get(*at).filter(|c| !c.is_whitespace() && **c != '|') {
        globs.push(match c {
            '*' => Glob::Any,
            '?' => Glob::One,
            _ => Glob::Char(c),
        });
        *at += 1;
    }
    Some(Pattern(globs))
}

impl Key {
    fn new(text: &str) -> Self {
        match text {
            "id" => Self::Id,
            "kind" => Self::Kind,
            "name" => Self::Name,
            "stream" => Self::Stream,
            "thread" => Self::Thread,
            "program" => Self::Program,
            "event" => Self::Event,
            "notify" => Self::Notify,
            "buffer" => Self::Buffer,
            "communicator" => Self::Communicator,
            "collective" => Self::Collective,
            tag => Self::Tag(tag.strip_prefix("tag.").unwrap_or(tag).to_owned()),
        }
    }
}

impl Term {
    fn matches(&self, program: &Program, op: &Op) -> bool {
        let any = |text: &str| self.patterns.iter().any(|pattern| pattern.matches(text));
        let some = |text: Option<&str>| text.is_some_and(any);
        let found = match &self.key {
            Key::Id => any(op.id.as_str()),
            Key::Kind => any(op.kind.name()),
            Key::Name => some(operator(op)),
            Key::Stream => some(op.stream.as_ref().map(|stream| stream.as_str())),
            Key::Thread => any(op.thread.as_str()),
            Key::Program => any(program.name.as_str()),
            Key::Event => some(event(op)),
            Key::Notify => some(match &op.kind {
                OpKind::NotifyRecord(record) => Some(record.notify.as_str()),
                OpKind::NotifyWait(wait) => Some(wait.notify.as_str()),
                _ => None,
            }),
            Key::Buffer => {
                some(buffer(op))
                    || op
                        .accesses
                        .known()
                        .iter()
                        .any(|access| any(access.buffer.as_str()))
            }
            Key::Communicator => some(op.comm.as_ref().map(|comm| comm.communicator.as_str())),
            Key::Collective => some(op.comm.as_ref().map(|comm| comm.kind.name())),
            Key::Tag(key) => some(op.tags.get(key)),
        };
        found != self.negated
    }
}

fn operator(op: &Op) -> Option<&str> {
    match &op.kind {
        OpKind::Kernel(kernel) => Some(&kernel.name),
        OpKind::SuperKernel(kernel) => Some(&kernel.name),
        OpKind::Host(HostKind::Function { name, .. }) => Some(name),
        OpKind::Collective(_) => op.comm.as_ref().map(|comm| comm.kind.name()),
        _ => None,
    }
}

fn event(op: &Op) -> Option<&str> {
    let event = match &op.kind {
        OpKind::Record(record) | OpKind::EventReset(record) => &record.event,
        OpKind::Wait(wait) => &wait.event,
        OpKind::Host(
            HostKind::RecordExternal { event } | HostKind::Synchronise(SyncTarget::Event(event)),
        ) => event,
        _ => return None,
    };
    Some(event.as_str())
}

fn buffer(op: &Op) -> Option<&str> {
    match &op.kind {
        OpKind::Alloc(buffer) | OpKind::Free(buffer) | OpKind::StreamUse(buffer) => {
            Some(buffer.as_str())
        }
        OpKind::Prefetch(prefetch) => Some(prefetch.buffer.as_str()),
        OpKind::ValueWrite(write) => Some(write.buffer.as_str()),
        OpKind::ValueWait(wait) => Some(wait.buffer.as_str()),
        _ => None,
    }
}

impl Pattern {
    /// Whether the pattern matches all of `text`. Iterative with one point to go back to, so that no
    /// pattern takes exponential time.
    fn matches(&self, text: &str) -> bool {
        let globs = &self.0;
        let mut rest = text.chars();
        let mut at = 0;
        let mut back: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            if globs.get(at) == Some(&Glob::Any) {
                at += 1;
                back = Some((at, rest.clone()));
                continue;
            }
            let ahead = rest.clone().next();
            let fits = match (globs.get(at), ahead) {
                (None, None) => return true,
                (Some(Glob::One), Some(_)) => true,
                (Some(Glob::Char(c)), Some(have)) => *c == have,
                _ => false,
            };
            if fits {
                rest.next();
                at += 1;
                continue;
            }
            let Some((after, from)) = &mut back else {
                return false;
            };
            if from.next().is_none() {
                return false;
            }
            at = *after;
            rest = from.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Extra, Kernel};

    fn op() -> (Program, Op) {
        let kernel = Kernel {
            name: "MatMulV3".into(),
            dynamic: false,
            extra: Extra::default(),
        };
        let mut op = Op::new("l3.gate", OpKind::Kernel(kernel));
        op.stream = Some("S1".into());
        op.tags = [
            ("layer", "3"),
            ("module", "moe.shared.gate up"),
            ("name", "tagged"),
        ]
        .into_iter()
        .collect();
        let program = Program {
            name: "decode".into(),
            capture: None,
            ops: Vec::new(),
            extra: Extra::default(),
        };
        (program, op)
    }

    #[test]
    fn terms_match_what_they_say() {
        let (program, op) = op();
        let yes = [
            "id=l3.gate",
            "id=*",
            "id=l*g*e",
            "id=l?.gate",
            "kind=kernel name=MatMul*",
            "name=Cast|MatMulV3",
            "layer=3 module=moe.shared.*",
            "module=\"moe.shared.gate up\"",
            "tag.name=tagged",
            "!name=Cast stream=S1 thread=main program=decode",
            "!event=*",
        ];
        for text in yes {
            assert!(
                text.parse::<Selector>().expect(text).matches(&program, &op),
                "{text}"
            );
        }
        let no = [
            "id=l3",
            "id=l3.gate?",
            "name=matmul*",
            "!layer=3",
            "layer=3 layer=4",
            "event=*",
        ];
        for text in no {
            assert!(
                !text.parse::<Selector>().expect(text).matches(&program, &op),
                "{text}"
            );
        }
    }

    #[test]
    fn errors_point_at_the_place() {
        let error = |text: &str| text.parse::<Selector>().expect_err(text);
        assert_eq!(error("  ").position, 1);
        assert_eq!(error("name").position, 1);
        assert_eq!(error("kind=kernel name=").position, 18);
        assert_eq!(error("id=a =b").position, 6);
        assert_eq!(error("module=\"open").position, 8);
        assert_eq!(error("module=\"a\"b").position, 11);
    }

    #[test]
    fn a_hostile_pattern_takes_no_exponential_time() {
        let pattern = Pattern([Glob::Any, Glob::Char('a')].repeat(40));
        assert!(!pattern.matches(&"a".repeat(39)));
        assert!(!pattern.matches(&format!("{}b", "a".repeat(10_000))));
        assert!(pattern.matches(&"a".repeat(10_000)));
    }
}
