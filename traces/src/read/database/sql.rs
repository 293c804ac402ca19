//! A database opened so that it can do no harm, and typed access to its rows.
//!
//! A database from elsewhere is hostile input: it is opened read-only and
//! immutable, its schema is not trusted, only ordinary tables are read, and
//! every value is checked. Columns are found by name, with synonyms.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row, Statement};
use tempfile::NamedTempFile;

use crate::read::row::shorten;
use crate::read::source::{self, Packing};
use crate::{Place, TraceError};

/// The longest string or row that is read, bytes.
const MAX_VALUE: i32 = 1 << 24;

/// Ids of this value mean "none".
const NO_ID: i64 = u32::MAX as i64;

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    connection: Connection,
    /// Columns of each table, by name.
    tables: BTreeMap<String, Vec<String>>,
    /// The unpacked copy of a compressed database.
    _unpacked: Option<NamedTempFile>,
}

impl Database {
    /// Opens the database at `path`.
    ///
    /// # Errors
    /// A file that cannot be read, or is no database.
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        let unpacked = unpack(path)?;
        let file = unpacked.as_ref().map_or(path, NamedTempFile::path);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(uri(file), flags)
            .and_then(harden)
            .map_err(|error| database_error(path, &error))?;
        let tables = schema(&connection).map_err(|error| database_error(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            connection,
            tables,
            _unpacked: unpacked,
        })
    }

    /// Whether the database has the table.
    pub(crate) fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Whether the table has one of the columns.
    pub(crate) fn has_column(&self, table: &str, synonyms: &[&str]) -> bool {
        self.column(table, synonyms).is_some()
    }

    fn column(&self, table: &str, synonyms: &[&str]) -> Option<&String> {
        let columns = self.tables.get(table)?;
        let mut found = synonyms.iter().filter_map(|synonym| {
            let same = |column: &&String| column.eq_ignore_ascii_case(synonym);
            columns.iter().find(same)
        });
        found.next()
    }

    /// Calls `each` with every row of `table` in the order they were written;
    /// does nothing if there is no such table. `columns` are the cells of a row,
    /// each with its synonyms; one that the table lacks reads as NULL.
    ///
    /// # Errors
    /// A damaged table, or what `each` gives.
    pub(crate) fn rows(
        &self,
        table: &'static str,
        columns: &[&[&'static str]],
        mut each: impl FnMut(&Cells<'_>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        if !self.has(table) {
            return Ok(());
        }
        let selected: Vec<String> = columns
            .iter()
            .map(|synonyms| match self.column(table, synonyms) {
                Some(column) => format!("\"{}\"", column.replace('"', "\"\"")),
                None => "NULL".to_owned(),
            })
            .collect();
        let query = format!(
            "SELECT {} FROM main.\"{table}\" ORDER BY rowid",
            selected.join(", ")
        );
        let failed = |error: &rusqlite::Error| database_error(&self.path, error);
        let mut statement: Statement<'_> =
            self.connection.prepare(&query).map_err(|e| failed(&e))?;
        let mut rows = statement.query([]).map_err(|e| failed(&e))?;
        let mut number = 0;
        while let Some(row) = rows.next().map_err(|e| failed(&e))? {
            number += 1;
            each(&Cells {
                path: &self.path,
                table,
                columns,
                row,
                number,
            })?;
        }
        Ok(())
    }
}

/// One row.
pub(crate) struct Cells<'a> {
    path: &'a Path,
    table: &'static str,
    columns: &'a [&'a [&'static str]],
    row: &'a Row<'a>,
    number: u64,
}

impl Cells<'_> {
    /// An integer; `None` if it is NULL, empty or N/A. Some times are text.
    pub(crate) fn integer(&self, column: usize) -> Result<Option<i64>, TraceError> {
        let reason = |text: &str| format!("is not an integer: {}", shorten(text));
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(value) => Ok(Some(value)),
            // SQLite stores integers beyond 2^63 as such, and so are most "none".
            ValueRef::Real(value) if value >= 9.2e18 => Ok(None),
            ValueRef::Real(value) if value.fract() == 0.0 && value.abs() < 9e15 => {
                Ok(Some(value as i64))
            }
            ValueRef::Real(value) => Err(self.bad(column, reason(&value.to_string()))),
            ValueRef::Text(_) => {
                let text = self.text(column)?.unwrap_or_default().trim().to_owned();
                if text.is_empty() || text == "N/A" {
                    return Ok(None);
                }
                match text.parse() {
                    Ok(value) => Ok(Some(value)),
                    Err(_) => Err(self.bad(column, reason(&text))),
                }
            }
            ValueRef::Blob(_) => Err(self.bad(column, reason("a blob"))),
        }
    }

    /// A time in ns that must be there.
    pub(crate) fn time(&self, column: usize) -> Result<i64, TraceError> {
        self.integer(column)?
            .ok_or_else(|| self.bad(column, "is missing".to_owned()))
    }

    /// A 32-bit id; `None` also for 4294967295, which means "none".
    pub(crate) fn small_id(&self, column: usize) -> Result<Option<u32>, TraceError> {
        match self.integer(column)? {
            None | Some(NO_ID | -1) => Ok(None),
            Some(id) => match u32::try_from(id) {
                Ok(id) => Ok(Some(id)),
                Err(_) => Err(self.bad(column, format!("is not an id below 2^32: {id}"))),
            },
        }
    }

    /// A 64-bit id; `None` for negative ones, which mean "none", and for the
    /// largest integer that the database holds.
    pub(crate) fn id(&self, column: usize) -> Result<Option<u64>, TraceError> {
        let id = self.integer(column)?.filter(|&id| id != i64::MAX);
        Ok(id.and_then(|id| u64::try_from(id).ok()))
    }

    /// A number; `None` if it is none, or not finite.
    pub(crate) fn number(&self, column: usize) -> Result<Option<f64>, TraceError> {
        let found = match self.value(column)? {
            ValueRef::Integer(value) => Some(value as f64),
            ValueRef::Real(value) => Some(value),
            ValueRef::Text(_) => self.text(column)?.and_then(|text| text.trim().parse().ok()),
            _ => None,
        };
        Ok(found.filter(|number| number.is_finite()))
    }

    /// A string.
    pub(crate) fn text(&self, column: usize) -> Result<Option<&str>, TraceError> {
        let ValueRef::Text(bytes) = self.value(column)? else {
            return Ok(None);
        };
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(self.bad(column, "is not UTF-8".to_owned())),
        }
    }

    /// An error about a cell of this row.
    pub(crate) fn bad(&self, column: usize, reason: String) -> TraceError {
        let name = self.columns.get(column).and_then(|names| names.first());
        TraceError::Field {
            path: self.path.to_owned(),
            place: Place::Row(self.number),
            field: format!("{}.{}", self.table, name.unwrap_or(&"?")),
            reason,
        }
    }

    /// The file and the place of this row.
    pub(crate) fn place(&self) -> (&Path, Place) {
        (self.path, Place::Row(self.number))
    }

    fn value(&self, column: usize) -> Result<ValueRef<'_>, TraceError> {
        self.row
            .get_ref(column)
            .map_err(|error| database_error(self.path, &error))
    }
}

/// Unpacks a compressed database into a file that is deleted afterwards.
fn unpack(path: &Path) -> Result<Option<NamedTempFile>, TraceError> {
    let (mut input, packing) = source::open(path)?;
    if packing == Packing::Plain {
        return Ok(None);
    }
    let here = |source| TraceError::io(path, source);
    let mut unpacked = NamedTempFile::new().map_err(here)?;
    std::io::copy(&mut input, &mut unpacked).map_err(here)?;
    unpacked.flush().map_err(here)?;
    Ok(Some(unpacked))
}

/// The address of a file that nobody writes to: no lock and no journal.
fn uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + "?mode=ro&immutable=1"
}

/// Takes from the connection what a hostile schema could use.
fn harden(connection: Connection) -> rusqlite::Result<Connection> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// The ordinary tables with their ordinary columns: no views, no virtual tables,
/// and no generated columns, whose expressions could do anything.
fn schema(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Vec<String>>> {
    let mut query = connection.prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'",
    )?;
    let names: Vec<String> = query
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut tables = BTreeMap::new();
    for name in names {
        // Generated columns are hidden from this form.
        let mut query = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let columns: Vec<String> = query
            .query_map([&name], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        tables.insert(name, columns);
    }
    Ok(tables)
}

fn database_error(path: &Path, error: &rusqlite::Error) -> TraceError {
    TraceError::Database {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}
