//! Results as text for people.

pub(crate) mod check;
pub(crate) mod ladder;
pub(crate) mod profile;
pub(crate) mod sweep;
pub(crate) mod what_if;

use std::fmt::Write as _;

use ascsim_schedules::rewrite::{Note, NoteKind};

/// What was assumed, and what is doubtful, one line each.
pub(crate) fn notes(text: &mut String, notes: &[Note]) {
    for (kind, label) in [
        (NoteKind::Assumption, "assumed"),
        (NoteKind::Warning, "doubtful"),
    ] {
        let mut first = true;
        for note in notes.iter().filter(|note| note.kind == kind) {
            let label = if first { label } else { "" };
            first = false;
            let _ = writeln!(text, "{label:<9}{}", shown(&note.text, 1000));
        }
    }
}

/// Columns of the terminal that standard output is; 100 where it is none.
pub(crate) fn columns() -> usize {
    terminal_size::terminal_size_of(std::io::stdout())
        .map_or(100, |(terminal_size::Width(columns), _)| {
            usize::from(columns)
        })
}

/// A time in ns as text with a fitting unit and three digits or more: `604.0 µs`, `1.25 ms`.
pub(crate) fn time(ns: i64) -> String {
    let size = ns.unsigned_abs();
    let (unit, per, digits) = match size {
        0..10_000_000 => ("µs", 1e3, if size < 10_000 { 2 } else { 1 }),
        10_000_000..10_000_000_000 => ("ms", 1e6, 2),
        _ => ("s", 1e9, 2),
    };
    format!("{:.digits$} {unit}", ns as f64 / per)
}

/// A time in ns with its sign.
pub(crate) fn signed(ns: i64) -> String {
    if ns > 0 {
        format!("+{}", time(ns))
    } else {
        time(ns).replace('-', "−")
    }
}

/// A table with its columns aligned: the first to the left, the others to the right, except the last
/// one where `text_last` says that it holds text.
pub(crate) fn table(rows: &[Vec<String>], indent: &str, text_last: bool) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| width(cell))
                .max()
        })
        .map(|width| width.unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::from(indent);
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - width(cell));
            let last = column + 1 == columns;
            if column == 0 || (text_last && last) {
                let _ = write!(line, "{cell}{pad}");
            } else {
                let _ = write!(line, "{pad}{cell}");
            }
            if !last {
                line.push_str("  ");
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Columns that a text takes on a terminal; a wide character takes two.
pub(crate) fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// Text without control characters, and cut to `most` columns with an ellipsis: what a file holds
/// must not move the cursor of the terminal it is shown on.
pub(crate) fn shown(text: &str, most: usize) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if width(&clean) <= most {
        return clean;
    }
    let mut short = String::new();
    for c in clean.chars() {
        if width(&short) + unicode_width::UnicodeWidthChar::width(c).unwrap_or(0) + 1 > most {
            break;
        }
        short.push(c);
    }
    short + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_fitting_units() {
        assert_eq!(time(604_000), "604.0 µs");
        assert_eq!(time(400), "0.40 µs");
        assert_eq!(time(141_200_000), "141.20 ms");
        assert_eq!(signed(-58_000), "−58.0 µs");
        assert_eq!(signed(1_000), "+1.00 µs");
        assert_eq!(signed(0), "0.00 µs");
        assert_eq!(time(i64::MIN), "-9223372036.85 s");
    }

    #[test]
    fn wide_characters_keep_columns_aligned() {
        let rows = [["名", "1"], ["ab", "22"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows, "", false), "名   1\nab  22\n");
    }

    #[test]
    fn hostile_names_stay_harmless() {
        assert_eq!(shown("a\u{1b}[2Jb", 10), "a\u{fffd}[2Jb");
        assert_eq!(shown("abcdefgh", 5), "abcd…");
        assert_eq!(shown("名名名", 5), "名名…");
    }
}
