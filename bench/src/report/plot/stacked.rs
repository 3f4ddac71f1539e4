use super::axis::Axis;
use super::{NAMES_WIDTH, WIDTH, colour, drawing, legend, line, text};
use crate::report::Table;

const ROW_HEIGHT: f64 = 30.0;

/// A bar a row: what each column adds to the whole.
pub(super) fn draw(table: &Table) -> Option<String> {
    let medians: Vec<Vec<f64>> = table
        .rows
        .iter()
        .map(|row| {
            let columns = 0..table.columns.len();
            columns
                .map(|column| {
                    let spread = row.cell(column).and_then(crate::report::Cell::spread);
                    spread.map_or(0.0, |spread| spread.median)
                })
                .collect()
        })
        .collect();
    let most = medians
        .iter()
        .map(|row| row.iter().sum::<f64>())
        .max_by(f64::total_cmp)?;
    let axis = Axis::linear(most, (NAMES_WIDTH, WIDTH - 60.0));
    let bottom = table.rows.len() as f64 * ROW_HEIGHT + 6.0;
    let mut body = String::new();
    for mark in axis.marks() {
        let x = axis.place(mark);
        body.push_str(&line((x, 0.0), (x, bottom), "grid"));
        body.push_str(&text(x, bottom + 14.0, "middle", &table.unit.shown(mark)));
    }
    for (number, (row, medians)) in table.rows.iter().zip(&medians).enumerate() {
        let y = number as f64 * ROW_HEIGHT + 6.0;
        body.push_str(&text(NAMES_WIDTH - 8.0, y + 16.0, "end", &row.name));
        let mut whole = 0.0;
        for (column, median) in medians.iter().enumerate() {
            let (from, to) = (axis.place(whole), axis.place(whole + median));
            whole += median;
            body.push_str(&format!(
                "<rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>",
                to - from,
                ROW_HEIGHT - 8.0,
                colour(column)
            ));
        }
        let end = axis.place(whole) + 6.0;
        body.push_str(&text(end, y + 16.0, "start", &table.unit.shown(whole)));
    }
    Some(drawing(&table.title, bottom + 22.0, &legend(table), &body))
}
