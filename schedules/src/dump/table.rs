//! Aligned columns.

/// Rows of cells that are written with each column as wide as its widest cell.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
}

impl Table {
    /// A table with a head.
    pub(super) fn new(head: &[&str]) -> Self {
        let mut table = Self::default();
        table.row(head.iter().map(|cell| (*cell).to_owned()).collect());
        table
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.widths.resize(self.widths.len().max(cells.len()), 0);
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = (*width).max(cell.chars().count());
        }
        self.rows.push(cells);
    }

    /// Writes the rows, indented. Columns without any text are left out, and so is white space at
    /// the end of a line.
    pub(super) fn write(&self, out: &mut String) {
        let head_only = |column: usize| {
            let mut cells = self.rows.iter().skip(1).filter_map(|row| row.get(column));
            self.rows.len() > 1 && cells.all(String::is_empty)
        };
        let used: Vec<bool> = (0..self.widths.len())
            .map(|column| self.widths[column] > 0 && !head_only(column))
            .collect();
        for row in &self.rows {
            let start = out.len();
            for (column, cell) in row.iter().enumerate().filter(|(column, _)| used[*column]) {
                out.push_str("  ");
                out.push_str(cell);
                let missing = self.widths[column] - cell.chars().count();
                out.extend(std::iter::repeat_n(' ', missing));
            }
            out.truncate(start + out[start..].trim_end().len());
            out.push('\n');
        }
    }
}
