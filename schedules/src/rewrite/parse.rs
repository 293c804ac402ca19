//! Changes as text: `NAME[:key=value,...]`.

use super::{Change, LaunchMode};
use crate::select::Selector;

/// What a change is, for help and documentation.
#[derive(Clone, Copy, Debug)]
pub struct ChangeDoc {
    /// Its name.
    pub name: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// Its keys.
    pub keys: &'static [KeyDoc],
    /// What must hold, what it rewrites, what it cannot model.
    pub details: &'static str,
    /// An example that parses.
    pub example: &'static str,
}

/// A key of a change.
#[derive(Clone, Copy, Debug)]
pub struct KeyDoc {
    /// Its name.
    pub name: &'static str,
    /// Whether it must be given.
    pub required: bool,
    /// What its value means, with unit and default.
    pub meaning: &'static str,
}

const SELECT: KeyDoc = KeyDoc {
    name: "select",
    required: true,
    meaning: "selector of the ops",
};

const CATALOGUE: &[ChangeDoc] = &[
    ChangeDoc {
        name: "scale",
        summary: "multiply durations",
        keys: &[
            SELECT,
            KeyDoc {
                name: "factor",
                required: true,
                meaning: "factor, 0 or more",
            },
        ],
        details: "The duration of every selected op, or of the parts of a selected group, is \
                  multiplied. Delays and host times stay. For a collective it is the time from the \
                  last rank's start. It cannot model why the duration would change.",
        example: "scale:select=name=MatMul*,factor=0.8",
    },
    ChangeDoc {
        name: "set-duration",
        summary: "replace durations",
        keys: &[
            SELECT,
            KeyDoc {
                name: "us",
                required: true,
                meaning: "duration in µs, 0 or more",
            },
        ],
        details: "As scale, with a duration in place of a factor.",
        example: "set-duration:select=name=MatMul*,us=12.5",
    },
    ChangeDoc {
        name: "remove",
        summary: "remove ops",
        keys: &[SELECT],
        details: "Removes kernels, copies, collectives and host ops. Event, notify and value ops are \
                  refused: others depend on them. A collective goes on every rank that runs the \
                  program. Whether anybody needs the result is checked only where accesses are known.",
        example: "remove:select=name=Transpose*|Cast*",
    },
    ChangeDoc {
        name: "move-to-stream",
        summary: "run ops on another stream between two join points",
        keys: &[
            SELECT,
            KeyDoc {
                name: "stream",
                required: true,
                meaning: "the stream; declared if it is new",
            },
            KeyDoc {
                name: "after",
                required: false,
                meaning: "selector of the op after which they may start: the last match before them",
            },
            KeyDoc {
                name: "before",
                required: false,
                meaning: "selector of the op that waits for them: the first match after them",
            },
        ],
        details: "The ops keep their place in the host issue order. An event recorded after the \
                  `after` op holds them back, and the `before` op waits for an event recorded after \
                  the last of them. Without join points they are derived from the ops' accesses; \
                  where these are unknown (every import) the change is refused.",
        example: "move-to-stream:select=module=moe.shared.*,stream=S1,after=name=Cast,before=name=Add",
    },
    ChangeDoc {
        name: "move-wait",
        summary: "move waits to before another op",
        keys: &[
            KeyDoc {
                name: "select",
                required: true,
                meaning: "selector of the waits",
            },
            KeyDoc {
                name: "before",
                required: true,
                meaning: "selector of ops on the stream of the wait; the nearest one counts",
            },
        ],
        details: "Refused where the wait would be issued before its record, since ACL would drop it.",
        example: "move-wait:select=kind=wait event=E1,before=name=GroupedMatmul",
    },
    ChangeDoc {
        name: "move-record",
        summary: "move records to after another op",
        keys: &[
            KeyDoc {
                name: "select",
                required: true,
                meaning: "selector of the records",
            },
            KeyDoc {
                name: "after",
                required: true,
                meaning: "selector of ops on the stream of the record; the nearest one counts",
            },
        ],
        details: "Refused where the record would be issued after its wait, since ACL would drop it.",
        example: "move-record:select=kind=record event=E1,after=name=Cast",
    },
    ChangeDoc {
        name: "drop-wait",
        summary: "remove waits",
        keys: &[KeyDoc {
            name: "select",
            required: true,
            meaning: "selector of the waits",
        }],
        details: "Records that nobody waits for any more go too. Whether the order was needed is not \
                  known on an import.",
        example: "drop-wait:select=kind=wait event=E1",
    },
    ChangeDoc {
        name: "drop-record",
        summary: "remove records and the waits bound to them",
        keys: &[KeyDoc {
            name: "select",
            required: true,
            meaning: "selector of the records",
        }],
        details: "Refused for `sync` and `external` events, whose waits would hang, and where the host \
                  synchronises with the event.",
        example: "drop-record:select=kind=record event=E1",
    },
    ChangeDoc {
        name: "eager",
        summary: "issue every op by a call of its own",
        keys: &[
            KeyDoc {
                name: "us",
                required: true,
                meaning: "host time per call in µs",
            },
            KeyDoc {
                name: "event-us",
                required: false,
                meaning: "host time per record, wait or notify in µs; default a fifth of us",
            },
        ],
        details: "Captured graphs are issued op by op. Kernels run as long as before. Host think and \
                  work between calls stay.",
        example: "eager:us=5",
    },
    ChangeDoc {
        name: "graph",
        summary: "capture what is issued between host calls, and launch it by one call",
        keys: &[KeyDoc {
            name: "us",
            required: false,
            meaning: "host time of a launch in µs; default 20, which is assumed",
        }],
        details: "Each run of ops between calls that cannot be captured (synchronisation, blocking \
                  copies, host work) becomes a graph. Host think time between its first and its last op \
                  goes, and so do hand-overs between threads: one thread launches. Host time before \
                  and after stays. Side streams are joined from and to the main stream at both ends. \
                  Ranks that were not captured arrive as before.",
        example: "graph:us=20",
    },
];

/// All changes, in the order of the documentation.
pub fn catalogue() -> &'static [ChangeDoc] {
    CATALOGUE
}

/// Why a text is not a change.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such change.
    #[error("there is no change `{name}`; there are {known}")]
    Unknown {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A key that the change does not have.
    #[error("`{change}` has no key `{key}`; it has {known}")]
    UnknownKey {
        /// The change.
        change: &'static str,
        /// The key.
        key: String,
        /// The keys it has.
        known: String,
    },
    /// A key that must be given is missing.
    #[error("`{change}` needs {key}=…: {meaning}; for example `{example}`")]
    MissingKey {
        /// The change.
        change: &'static str,
        /// The key.
        key: &'static str,
        /// What it means.
        meaning: &'static str,
        /// An example.
        example: &'static str,
    },
    /// A part without `=`, or a key given twice.
    #[error("`{part}` in `{text}`: {why}")]
    Malformed {
        /// The part.
        part: String,
        /// The whole text.
        text: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A value that is not what the key means.
    #[error("`{key}={value}`: {why}")]
    Value {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// What is wrong.
        why: String,
    },
}

impl Change {
    /// Reads a change from text: `NAME[:key=value,...]`. A comma inside a value is written `\,`.
    ///
    /// # Errors
    /// If the name or a key is unknown, a needed key is missing, or a value is wrong; each error says
    /// what there is instead.
    pub fn parse(text: &str) -> Result<Self, ChangeError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let doc = CATALOGUE
            .iter()
            .find(|doc| doc.name == name.trim())
            .ok_or_else(|| {
                let known: Vec<_> = CATALOGUE.iter().map(|doc| doc.name).collect();
                ChangeError::Unknown {
                    name: name.trim().to_owned(),
                    known: known.join(", "),
                }
            })?;
        let keys = Keys::parse(doc, text, rest)?;
        Ok(match doc.name {
            "scale" => Self::Scale {
                select: keys.selector("select")?,
                factor: keys.number("factor")?,
            },
            "set-duration" => Self::SetDuration {
                select: keys.selector("select")?,
                ns: keys.microseconds("us")?,
            },
            "remove" => Self::Remove {
                select: keys.selector("select")?,
            },
            "move-to-stream" => Self::MoveToStream {
                select: keys.selector("select")?,
                stream: keys.text("stream")?.into(),
                after: keys.optional_selector("after")?,
                before: keys.optional_selector("before")?,
            },
            "move-wait" => Self::MoveWait {
                select: keys.selector("select")?,
                before: keys.selector("before")?,
            },
            "move-record" => Self::MoveRecord {
                select: keys.selector("select")?,
                after: keys.selector("after")?,
            },
            "drop-wait" => Self::DropWait {
                select: keys.selector("select")?,
            },
            "drop-record" => Self::DropRecord {
                select: keys.selector("select")?,
            },
            "eager" => {
                let op_ns = keys.microseconds("us")?;
                let event_ns = match keys.get("event-us") {
                    Some(_) => keys.microseconds("event-us")?,
                    None => op_ns / 5.0,
                };
                Self::Launch(LaunchMode::Eager { op_ns, event_ns })
            }
            _ => {
                let launch_ns = match keys.get("us") {
                    Some(_) => keys.microseconds("us")?,
                    None => 20_000.0,
                };
                Self::Launch(LaunchMode::Graph { launch_ns })
            }
        })
    }
}

struct Keys {
    doc: &'static ChangeDoc,
    pairs: Vec<(&'static str, String)>,
}

impl Keys {
    fn parse(doc: &'static ChangeDoc, text: &str, rest: &str) -> Result<Self, ChangeError> {
        let mut pairs: Vec<(&'static str, String)> = Vec::new();
        for part in split(rest)
            .into_iter()
            .filter(|part| !part.trim().is_empty())
        {
            let malformed = |why| ChangeError::Malformed {
                part: part.clone(),
                text: text.to_owned(),
                why,
            };
            let (key, value) = part.split_once('=').ok_or_else(|| {
                malformed("expected key=value; a comma inside a value is written `\\,`")
            })?;
            let key = doc
                .keys
                .iter()
                .find(|known| known.name == key.trim())
                .ok_or_else(|| {
                    let known: Vec<_> = doc.keys.iter().map(|key| key.name).collect();
                    ChangeError::UnknownKey {
                        change: doc.name,
                        key: key.trim().to_owned(),
                        known: known.join(", "),
                    }
                })?;
            if pairs.iter().any(|(have, _)| *have == key.name) {
                return Err(malformed("the key is given twice"));
            }
            pairs.push((key.name, value.trim().to_owned()));
        }
        for key in doc.keys.iter().filter(|key| key.required) {
            if !pairs.iter().any(|(have, _)| *have == key.name) {
                return Err(ChangeError::MissingKey {
                    change: doc.name,
                    key: key.name,
                    meaning: key.meaning,
                    example: doc.example,
                });
            }
        }
        Ok(Self { doc, pairs })
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(have, _)| *have == key)
            .map(|(_, value)| value.as_str())
    }

    fn text(&self, key: &'static str) -> Result<&str, ChangeError> {
        let value = self.get(key).unwrap_or_default();
        if value.is_empty() {
            return Err(ChangeError::Value {
                key,
                value: String::new(),
                why: format!("expected a value; for example `{}`", self.doc.example),
            });
        }
        Ok(value)
    }

    fn selector(&self, key: &'static str) -> Result<Selector, ChangeError> {
        let value = self.text(key)?;
        value
            .parse()
            .map_err(|error: crate::select::SelectorError| ChangeError::Value {
                key,
                value: value.to_owned(),
                why: error.to_string(),
            })
    }

    fn optional_selector(&self, key: &'static str) -> Result<Option<Selector>, ChangeError> {
        self.get(key).map(|_| self.selector(key)).transpose()
    }

    fn number(&self, key: &'static str) -> Result<f64, ChangeError> {
        let value = self.text(key)?;
        match value.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => Err(ChangeError::Value {
                key,
                value: value.to_owned(),
                why: "expected a finite number, 0 or more".to_owned(),
            }),
        }
    }

    /// A time given in µs, in ns.
    fn microseconds(&self, key: &'static str) -> Result<f64, ChangeError> {
        // A time beyond 100 days is a mistake, and would not fit the clock.
        match self.number(key)? * 1e3 {
            ns if ns < 1e16 => Ok(ns),
            ns => Err(ChangeError::Value {
                key,
                value: (ns / 1e3).to_string(),
                why: "expected less than 10^13 µs".to_owned(),
            }),
        }
    }
}

/// Splits at commas that are not written `\,`.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let last = parts.len() - 1;
        match c {
            '\\' if chars.peek() == Some(&',') => {
                chars.next();
                parts[last].push(',');
            }
            ',' => parts.push(String::new()),
            _ => parts[last].push(c),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_parses() {
        for doc in catalogue() {
            Change::parse(doc.example).unwrap_or_else(|error| panic!("{}: {error}", doc.example));
        }
    }

    #[test]
    fn errors_say_what_there_is() {
        let error = |text| Change::parse(text).expect_err(text).to_string();
        assert!(error("scael:factor=2").contains("there is no change `scael`; there are scale, "));
        assert!(error("scale:select=name=A").contains("`scale` needs factor=…"));
        assert!(error("scale:select=name=A,by=2").contains("no key `by`; it has select, factor"));
        assert!(error("scale:select=name=A,factor=-1").contains("0 or more"));
        assert!(error("scale:select=name=A,factor=nan").contains("finite"));
        assert!(error("eager:us=1,us=2").contains("given twice"));
        assert!(error("eager:us=1e300").contains("less than"));
        assert!(error("remove").contains("needs select=…"));
    }

    #[test]
    fn a_comma_can_be_written() {
        assert_eq!(split(r"a=b\,c,d=e"), ["a=b,c", "d=e"]);
    }
}
