//! CSV tables of profilers: columns by name, cells trimmed, rows counted.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use csv::{ErrorKind, ReaderBuilder, StringRecord};

use super::row::shorten;
use super::source;
use crate::time::us_to_ns;
use crate::{Place, TraceError};

/// A table being read. Cells are trimmed of spaces and TABs: CANN 8 writes a
/// TAB at the end of each start time (facts/traces.md section 2.2).
pub(crate) struct Table {
    path: PathBuf,
    reader: csv::Reader<Box<dyn BufRead>>,
    header: Vec<String>,
    record: StringRecord,
    row: u64,
}

/// A column that a table has.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    index: usize,
    name: String,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Table");
        shown.field("path", &self.path).field("row", &self.row);
        shown.finish_non_exhaustive()
    }
}

impl Table {
    /// Opens the table at `path` and reads its header.
    ///
    /// # Errors
    /// A file that cannot be read, is empty, or is not CSV in UTF-8.
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        let (input, _) = source::open(path)?;
        // Flexible: the arity is checked here, with the row in the error.
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(input);
        let mut header = StringRecord::new();
        let found = reader
            .read_record(&mut header)
            .map_err(|e| csv_error(path, 1, &e))?;
        if !found {
            return Err(TraceError::Empty {
                path: path.to_owned(),
            });
        }
        let header = header
            .iter()
            .map(|cell| cell.trim_start_matches('\u{feff}').trim().to_owned())
            .collect();
        Ok(Self {
            path: path.to_owned(),
            reader,
            header,
            record: StringRecord::new(),
            row: 1,
        })
    }

    /// The first column whose name is one of `synonyms`.
    pub(crate) fn column(&self, synonyms: &[&str]) -> Option<Column> {
        synonyms.iter().find_map(|&name| {
            let index = self.header.iter().position(|cell| cell == name)?;
            Some(Column {
                index,
                name: name.to_owned(),
            })
        })
    }

    /// Like [`Table::column`], for a column that must be there.
    pub(crate) fn needed(&self, synonyms: &[&str]) -> Result<Column, TraceError> {
        self.column(synonyms).ok_or_else(|| TraceError::Column {
            path: self.path.clone(),
            column: synonyms.join("` or `"),
            found: self.header.join(", "),
        })
    }

    /// Goes to the next row; `false` after the last.
    ///
    /// # Errors
    /// A row that is not UTF-8 or has another number of cells than the header.
    pub(crate) fn next(&mut self) -> Result<bool, TraceError> {
        self.row += 1;
        let row = self.row;
        let found = self
            .reader
            .read_record(&mut self.record)
            .map_err(|error| csv_error(&self.path, row, &error))?;
        if found && self.record.len() != self.header.len() {
            return Err(TraceError::Arity {
                path: self.path.clone(),
                row,
                found: self.record.len(),
                expected: self.header.len(),
            });
        }
        Ok(found)
    }

    /// The cell of the current row; `None` if it is empty or N/A, or the table
    /// has no such column.
    pub(crate) fn cell(&self, column: Option<&Column>) -> Option<&str> {
        let cell = self.record.get(column?.index)?.trim();
        (!cell.is_empty() && cell != "N/A").then_some(cell)
    }

    /// A cell that is a 32-bit number; 4294967295 means "none".
    pub(crate) fn id(&self, column: Option<&Column>) -> Result<Option<u32>, TraceError> {
        let (Some(column), Some(cell)) = (column, self.cell(column)) else {
            return Ok(None);
        };
        match cell.parse() {
            Ok(u32::MAX) => Ok(None),
            Ok(id) => Ok(Some(id)),
            Err(_) => Err(self.bad(column, cell, "is not a number below 2^32")),
        }
    }

    /// A cell that is a time in µs, as ns.
    pub(crate) fn time(&self, column: Option<&Column>) -> Result<Option<i64>, TraceError> {
        let (Some(column), Some(cell)) = (column, self.cell(column)) else {
            return Ok(None);
        };
        us_to_ns(cell)
            .map(Some)
            .map_err(|error| self.bad(column, cell, &error.to_string()))
    }

    /// A cell that is a time in µs and must be there, as ns.
    pub(crate) fn needed_time(&self, column: &Column) -> Result<i64, TraceError> {
        self.time(Some(column))?
            .ok_or_else(|| self.bad(column, "", "is empty"))
    }

    /// A cell that is a ratio; anything else reads as "not captured".
    pub(crate) fn ratio(&self, column: Option<&Column>) -> Option<f64> {
        self.cell(column)?
            .parse()
            .ok()
            .filter(|ratio: &f64| ratio.is_finite())
    }

    /// The place of the current row.
    pub(crate) fn place(&self) -> Place {
        Place::Row(self.row)
    }

    /// An error about a cell of the current row.
    pub(crate) fn bad(&self, column: &Column, cell: &str, reason: &str) -> TraceError {
        TraceError::Field {
            path: self.path.clone(),
            place: self.place(),
            field: column.name.clone(),
            reason: format!("{reason}: \"{}\"", shorten(cell)),
        }
    }
}

fn csv_error(path: &Path, row: u64, error: &csv::Error) -> TraceError {
    let path = path.to_owned();
    match error.kind() {
        // The reader knows the field, not the byte: the row is what can be named.
        ErrorKind::Utf8 { .. } => TraceError::Utf8 {
            path,
            place: Place::Row(row),
        },
        ErrorKind::Io(source) => {
            let source = std::io::Error::new(source.kind(), source.to_string());
            TraceError::io(&path, source)
        }
        _ => TraceError::Csv {
            path,
            place: Place::Row(row),
            reason: error.to_string(),
        },
    }
}
