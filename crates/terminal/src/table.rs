//! Tables for people: rows below a header, fitted to the width of the terminal.

use std::io;

use crate::failure::printable;
use crate::{output, terminal};

/// The number of spaces between columns.
const GAP: usize = 3;
/// The number of spaces between columns where the terminal is too narrow for more.
const NARROW_GAP: usize = 2;
/// The least width of a cell that is cut: the beginning of a name can be recognised.
const CUT_CELL_MIN: usize = 12;

/// A column that may give way where the terminal is too narrow for the whole table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elastic {
    heading: &'static str,
    can_be_cut: bool,
}

impl Elastic {
    /// Returns a column of free text. Its cells are cut; it is left out if that is not enough.
    pub const fn cut(heading: &'static str) -> Self {
        Self {
            heading,
            can_be_cut: true,
        }
    }

    /// Returns a column of values that mean nothing if they are cut. It is only left out.
    pub const fn whole(heading: &'static str) -> Self {
        Self {
            heading,
            can_be_cut: false,
        }
    }
}

/// Rows below a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    columns: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Column {
    heading: String,
    cells: Vec<String>,
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().chain([&self.heading]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }

    /// Returns the width below which the column's cells are not cut.
    fn least_width(&self) -> usize {
        let least = CUT_CELL_MIN.max(self.heading.chars().count());
        least.min(self.width())
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(String::is_empty)
    }
}

impl Table {
    /// Returns a table of rows that have as many cells as the header.
    pub fn new<'a>(header: &[&str], rows: impl Iterator<Item = &'a [String]>) -> Self {
        let mut columns: Vec<Column> = header
            .iter()
            .map(|&heading| Column {
                heading: heading.to_owned(),
                cells: Vec::new(),
            })
            .collect();
        for row in rows {
            for (column, cell) in columns.iter_mut().zip(row) {
                column.cells.push(printable(cell));
            }
        }
        Self { columns }
    }

    /// Formats the table for standard output. If that is a terminal, columns of `elastic` give way
    /// until the rows fit.
    pub fn for_stdout(&self, elastic: &[Elastic]) -> String {
        match terminal::stdout_columns() {
            Some(width) => self.within(width, elastic),
            None => self.whole(),
        }
    }

    /// Formats the table with whole cells.
    pub fn whole(&self) -> String {
        self.formatted(GAP)
    }

    /// Formats the table in rows of at most `width` characters, if the columns of `elastic` have
    /// enough room to give. Empty ones are left out, others are cut, and the first ones of the list
    /// are left out first.
    pub fn within(&self, width: usize, elastic: &[Elastic]) -> String {
        if self.width(GAP) <= width {
            return self.formatted(GAP);
        }
        let mut table = self.clone();
        let is_elastic =
            |column: &Column| elastic.iter().any(|each| each.heading == column.heading);
        table
            .columns
            .retain(|column| !(is_elastic(column) && column.is_empty()));
        let mut remaining = elastic;
        loop {
            if let Some(fitted) = table.cut_to(width, remaining) {
                return fitted.formatted(NARROW_GAP);
            }
            let Some((first, rest)) = remaining.split_first() else {
                return table.formatted(NARROW_GAP);
            };
            table
                .columns
                .retain(|column| column.heading != first.heading);
            remaining = rest;
        }
    }

    /// Returns the table with its widest cuttable cells cut until the rows fit. `None` if they
    /// cannot be cut that far.
    fn cut_to(&self, width: usize, elastic: &[Elastic]) -> Option<Self> {
        let mut excess = self.width(NARROW_GAP).saturating_sub(width);
        let mut table = self.clone();
        while excess > 0 {
            let can_be_cut = |column: &&mut Column| {
                let of_column = |each: &Elastic| each.heading == column.heading;
                column.width() > column.least_width()
                    && elastic
                        .iter()
                        .any(|each| each.can_be_cut && of_column(each))
            };
            let columns = table.columns.iter_mut().filter(can_be_cut);
            let widest = columns.max_by_key(|column| column.width())?;
            let length_max = widest.width() - 1;
            for cell in &mut widest.cells {
                *cell = output::cut(cell, length_max);
            }
            excess -= 1;
        }
        Some(table)
    }

    fn width(&self, gap: usize) -> usize {
        let widths = self.columns.iter().map(Column::width);
        widths.sum::<usize>() + gap * self.columns.len().saturating_sub(1)
    }

    fn formatted(&self, gap: usize) -> String {
        let rows = self.columns.first().map_or(0, |column| column.cells.len());
        let line = |cell: &dyn Fn(&Column) -> String| self.columns.iter().map(cell).collect();
        let mut lines: Vec<Vec<String>> = vec![line(&|column| column.heading.clone())];
        for row in 0..rows {
            lines.push(line(&|column| {
                column.cells.get(row).cloned().unwrap_or_default()
            }));
        }
        aligned(&lines, gap)
    }
}

/// Prints rows in columns, below a header.
pub fn print<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> io::Result<()> {
    let rows = rows.iter().map(<[String; N]>::as_slice);
    output::print(&Table::new(&header, rows).whole())
}

/// Formats lines of cells. Each cell is as wide as the widest of its column.
pub fn columns(lines: &[Vec<String>]) -> String {
    aligned(lines, GAP)
}

fn aligned(lines: &[Vec<String>], gap: usize) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for line in lines {
        widths.resize(widths.len().max(line.len()), 0);
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for line in lines {
        let cells: Vec<String> = line
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell:width$}"))
            .collect();
        text.push_str(cells.join(&" ".repeat(gap)).trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELASTIC: [Elastic; 3] = [
        Elastic::cut("COMMAND"),
        Elastic::whole("PORTS"),
        Elastic::cut("IMAGE"),
    ];

    fn table(command: &str, ports: &str) -> Table {
        let row = ["0123", "docker.io/library/python", command, ports, "work"];
        let rows = [row.map(str::to_owned)];
        let rows = rows.iter().map(<[String; 5]>::as_slice);
        Table::new(&["ID", "IMAGE", "COMMAND", "PORTS", "NAME"], rows)
    }

    fn assert_fits(text: &str, width: usize) {
        let is_wide = |line: &&str| line.chars().count() > width;
        assert_eq!(text.lines().find(is_wide), None, "{width}\n{text}");
    }

    #[test]
    fn a_table_that_fits_is_whole() {
        let table = table("sleep infinity", "127.0.0.1:8080:80/tcp");
        let whole = table.whole();
        let width = whole.lines().map(|line| line.chars().count()).max();
        let width = width.expect("a header");
        assert_eq!(table.within(width, &ELASTIC), whole);
        assert!(
            whole.contains("docker.io/library/python   sleep infinity   127.0.0.1:8080:80/tcp")
        );
        let narrower = table.within(width - 1, &ELASTIC);
        assert_fits(&narrower, width - 1);
        assert!(narrower.contains("sleep infinity"), "{narrower}");
    }

    #[test]
    fn wide_cells_are_cut_before_columns_are_left_out() {
        let table = table("python3 -m http.server 8000 --bind 0.0.0.0", "80:80/tcp");
        let cut = table.within(60, &ELASTIC);
        assert_fits(&cut, 60);
        assert!(
            cut.contains("python3 -m") && cut.contains("80:80/tcp"),
            "{cut}"
        );
        assert_eq!(cut.matches('…').count(), 2, "{cut}");
        let without_command = table.within(38, &ELASTIC);
        assert_fits(&without_command, 38);
        assert!(!without_command.contains("COMMAND"), "{without_command}");
        assert!(without_command.contains("PORTS"), "{without_command}");
        assert_eq!(table.within(10, &ELASTIC), "ID    NAME\n0123  work\n");
        // Columns that do not give way may be wider than the terminal.
        assert_eq!(table.within(1, &ELASTIC), "ID    NAME\n0123  work\n");
    }

    #[test]
    fn an_empty_column_is_the_first_to_go() {
        let table = table("sleep infinity", "");
        let width = table.width(GAP) - 1;
        let narrower = table.within(width, &ELASTIC);
        assert!(!narrower.contains("PORTS"), "{narrower}");
        assert!(narrower.contains("sleep infinity"), "{narrower}");
        assert!(table.whole().contains("PORTS"));
    }

    #[test]
    fn control_characters_are_printable_before_they_are_measured() {
        let table = table("\u{1b}[31mred", "");
        assert!(
            table.whole().contains("\\u{1b}[31mred"),
            "{}",
            table.whole()
        );
        assert_fits(&table.within(40, &ELASTIC), 40);
    }
}
