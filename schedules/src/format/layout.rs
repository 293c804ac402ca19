//! How JSON is laid out: one declaration or op a line.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// How deep a document may be nested: as deep as `serde_json` reads.
const MOST_NESTED: usize = 127;

fn too_deep() -> io::Error {
    io::Error::other(format!(
        "it is nested deeper than {MOST_NESTED} levels, which could not be read back"
    ))
}

/// No white space at all.
#[derive(Debug, Default)]
pub(super) struct Compact {
    depth: usize,
}

impl Compact {
    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        if self.depth >= MOST_NESTED {
            return Err(too_deep());
        }
        self.depth += 1;
        writer.write_all(bracket)
    }
}

impl Formatter for Compact {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"]")
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"}")
    }
}

/// The document, its sections, the programs and the lists `ops` and `overrides` over several lines,
/// everything else on one.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The objects and lists that are open.
    open: Vec<Open>,
    /// The field of the document that is being written.
    section: String,
    /// The field that was named last, of those that decide about the layout.
    field: String,
    naming: bool,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    /// Whether its parts are on lines of their own.
    broken: bool,
    empty: bool,
}

impl Lines {
    fn begin<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: u8) -> io::Result<()> {
        let is_list = bracket == b'[';
        let broken = match self.open.len() {
            0 => true,
            1 => is_list,
            2 => self.section == "programs" && !is_list,
            3 => match self.section.as_str() {
                "programs" => self.field == "ops",
                "ranks" => self.field == "overrides",
                _ => false,
            },
            MOST_NESTED.. => return Err(too_deep()),
            _ => false,
        };
        let empty = true;
        self.open.push(Open { broken, empty });
        writer.write_all(&[bracket])
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: u8) -> io::Result<()> {
        if let Some(closed) = self.open.pop()
            && closed.broken
            && !closed.empty
        {
            self.new_line(writer)?;
        }
        writer.write_all(&[bracket])
    }

    fn part<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        open.empty = false;
        match (open.broken, first) {
            (true, true) => self.new_line(writer),
            (true, false) => {
                writer.write_all(b",")?;
                self.new_line(writer)
            }
            (false, true) => Ok(()),
            (false, false) => writer.write_all(b", "),
        }
    }

    fn new_line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        for _ in self.open.iter().filter(|open| open.broken) {
            writer.write_all(b"  ")?;
        }
        Ok(())
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b'[')
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b']')
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.part(writer, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b'{')
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b'}')
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.naming = matches!(self.open.len(), 1 | 3);
        if self.naming {
            self.field.clear();
        }
        self.part(writer, first)
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.naming = false;
        if self.open.len() == 1 {
            self.section.clone_from(&self.field);
        }
        Ok(())
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if self.naming {
            self.field.push_str(fragment);
        }
        writer.write_all(fragment.as_bytes())
    }
}
