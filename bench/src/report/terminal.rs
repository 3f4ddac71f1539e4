//! A report as text, the default output of `msb bench`.

use std::fmt::Write as _;

use super::table::{Row, Table};
use super::{Report, Target};

/// Returns the complete report.
pub(crate) fn text(report: &Report) -> String {
    let mut text = format!(
        "{}\n{}\n",
        report.command,
        report.machine.words().join("; ")
    );
    for table in &report.tables {
        text.push('\n');
        text.push_str(&table_text(table));
    }
    for Target { words, .. } in report.targets.iter().filter(|target| target.met) {
        let _ = writeln!(text, "met     {words}");
    }
    for Target { words, .. } in report.targets.iter().filter(|target| !target.met) {
        let _ = writeln!(text, "MISSED  {words}");
    }
    text
}

fn table_text(table: &Table) -> String {
    let mut text = format!("{}\n", table.title);
    let _ = writeln!(text, "({})", table.conditions.words().join("; "));
    let lines = grid(table);
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for line in &lines {
        let mut padded = String::new();
        for (number, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ = if number == 0 {
                write!(padded, "  {cell:<width$}")
            } else {
                write!(padded, "  {cell:>width$}")
            };
        }
        let _ = writeln!(text, "{}", padded.trim_end());
    }
    text
}

/// Returns the table's cells as text, the headings first. A column has its figure and, if there is
/// a baseline, its ratio.
pub(crate) fn grid(table: &Table) -> Vec<Vec<String>> {
    let mut headings = vec![String::new()];
    for (number, column) in table.columns.iter().enumerate() {
        headings.push(column.clone());
        if has_ratio(table, number) {
            headings.push("ratio".to_owned());
        }
    }
    let mut lines = vec![headings];
    lines.extend(table.rows.iter().map(|row| line(table, row)));
    lines.extend(mean_line(table));
    lines
}

fn has_ratio(table: &Table, column: usize) -> bool {
    table.baseline.is_some_and(|baseline| baseline != column)
}

fn line(table: &Table, row: &Row) -> Vec<String> {
    let mut line = vec![row.name.clone()];
    for column in 0..table.columns.len() {
        let cell = row.cell(column);
        let spread = cell.and_then(super::Cell::spread);
        let mut shown =
            spread.map_or_else(|| "-".to_owned(), |spread| table.unit.shown(spread.median));
        if let Some(errors) = cell.map(|cell| cell.errors).filter(|&errors| errors > 0) {
            let _ = write!(shown, " ({errors} errors)");
        }
        line.push(shown);
        if has_ratio(table, column) {
            line.push(table.ratio(row, column).map_or_else(String::new, |ratio| {
                format!("{:.2} ({:.2}-{:.2})", ratio.median, ratio.least, ratio.most)
            }));
        }
    }
    line
}

/// Returns the row of geometric means of the ratios. `None` for a table with a single row.
fn mean_line(table: &Table) -> Option<Vec<String>> {
    table.baseline.filter(|_| table.rows.len() > 1)?;
    let mut line = vec!["geometric mean".to_owned()];
    for column in 0..table.columns.len() {
        line.push(String::new());
        if has_ratio(table, column) {
            let mean = table.geometric_mean(column);
            line.push(mean.map_or_else(String::new, |mean| format!("{mean:.2}")));
        }
    }
    Some(line)
}
