//! Where in a file something is.

use std::fmt;

/// The way from the top of a JSON document to a value: `programs[2].ops[17].duration.ns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsonPath(pub Vec<JsonStep>);

/// One step of a [`JsonPath`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JsonStep {
    /// Into a field of an object.
    Field(String),
    /// To an item of a list.
    Item(usize),
}

impl JsonPath {
    /// Whether this is the document itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str("the document");
        }
        for (at, step) in self.0.iter().enumerate() {
            match step {
                JsonStep::Item(index) => write!(f, "[{index}]")?,
                JsonStep::Field(name) if at == 0 => f.write_str(name)?,
                JsonStep::Field(name) => write!(f, ".{name}")?,
            }
        }
        Ok(())
    }
}

impl From<&serde_path_to_error::Path> for JsonPath {
    fn from(path: &serde_path_to_error::Path) -> Self {
        use serde_path_to_error::Segment;
        let steps = path.iter().filter_map(|segment| match segment {
            Segment::Seq { index } => Some(JsonStep::Item(*index)),
            Segment::Map { key: name } | Segment::Enum { variant: name } => {
                Some(JsonStep::Field(name.clone()))
            }
            Segment::Unknown => None,
        });
        Self(steps.collect())
    }
}

/// A place in a schedule while it is walked: a [`JsonPath`] that costs nothing until it is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    up: Option<&'a At<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    Field(&'static str),
    Item(usize),
    /// An item that has a name: an op, a program, a declaration.
    Named(usize, &'a str),
}

impl<'a> At<'a> {
    /// The document.
    pub(crate) const ROOT: At<'static> = At {
        up: None,
        step: Step::Root,
    };

    /// The field `name` here.
    pub(crate) fn field(&'a self, name: &'static str) -> At<'a> {
        self.down(Step::Field(name))
    }

    /// The item `index` here.
    pub(crate) fn item(&'a self, index: usize) -> At<'a> {
        self.down(Step::Item(index))
    }

    /// The item `index` here, whose name is `name`.
    pub(crate) fn named(&'a self, index: usize, name: &'a str) -> At<'a> {
        self.down(Step::Named(index, name))
    }

    fn down(&'a self, step: Step<'a>) -> At<'a> {
        At {
            up: Some(self),
            step,
        }
    }

    /// The path from the document to here.
    pub(crate) fn path(&self) -> JsonPath {
        let steps = self.outwards().filter_map(|step| match step {
            Step::Root => None,
            Step::Field(name) => Some(JsonStep::Field(name.to_owned())),
            Step::Item(index) | Step::Named(index, _) => Some(JsonStep::Item(index)),
        });
        let mut path = JsonPath(steps.collect());
        path.0.reverse();
        path
    }

    /// The names on the way, joined by `/`: `decode/gate` for an op.
    pub(crate) fn subject(&self) -> String {
        let mut names: Vec<&str> = self
            .outwards()
            .filter_map(|step| match step {
                Step::Named(_, name) => Some(name),
                _ => None,
            })
            .collect();
        names.reverse();
        names.join("/")
    }

    fn outwards(&self) -> impl Iterator<Item = Step<'a>> {
        std::iter::successors(Some(*self), |at| at.up.copied()).map(|at| at.step)
    }
}
