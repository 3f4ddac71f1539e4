use super::axis::Axis;
use super::{LINE_HEIGHT, NAMES_WIDTH, WIDTH, colour, drawing, line, text};
use crate::report::Table;

const BAR_HEIGHT: f64 = 9.0;
const GAP: f64 = 8.0;

/// Bars from 1, to the left where a column is less than the baseline, with whiskers from the least
/// round to the most.
pub(super) fn draw(table: &Table) -> Option<String> {
    let baseline = table.baseline?;
    let columns: Vec<usize> = (0..table.columns.len())
        .filter(|&column| column != baseline)
        .collect();
    let all = || {
        table.rows.iter().flat_map(|row| {
            columns
                .iter()
                .filter_map(|&column| table.ratio(row, column))
        })
    };
    let ends = all()
        .flat_map(|ratio| [ratio.least, ratio.most])
        .chain([1.0]);
    let axis = Axis::logarithmic(ends, (NAMES_WIDTH, WIDTH - 20.0));
    let row_height = (columns.len() as f64)
        .mul_add(BAR_HEIGHT, GAP)
        .max(LINE_HEIGHT);
    let bottom = table.rows.len() as f64 * row_height + GAP;
    let mut body = String::new();
    for mark in axis.marks() {
        let x = axis.place(mark);
        body.push_str(&line((x, 0.0), (x, bottom), "grid"));
        body.push_str(&text(x, bottom + 14.0, "middle", &format!("{mark}")));
    }
    for (number, row) in table.rows.iter().enumerate() {
        let top = number as f64 * row_height + GAP;
        let middle = top + (row_height - GAP) / 2.0;
        body.push_str(&text(NAMES_WIDTH - 8.0, middle + 4.0, "end", &row.name));
        for (place, &column) in columns.iter().enumerate() {
            let Some(ratio) = table.ratio(row, column) else {
                continue;
            };
            let y = top + place as f64 * BAR_HEIGHT;
            let (from, to) = (axis.place(1.0), axis.place(ratio.median));
            body.push_str(&format!(
                "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>",
                from.min(to),
                (from - to).abs().max(1.0),
                BAR_HEIGHT - 2.0,
                colour(column)
            ));
            let whisker = y + (BAR_HEIGHT - 2.0) / 2.0;
            body.push_str(&line(
                (axis.place(ratio.least), whisker),
                (axis.place(ratio.most), whisker),
                "whisker",
            ));
        }
    }
    let one = axis.place(1.0);
    body.push_str(&line((one, 0.0), (one, bottom), "one"));
    let words = format!("times {}", table.columns.get(baseline)?);
    body.push_str(&text(WIDTH - 20.0, bottom + 30.0, "end", &words));
    let legend: Vec<(usize, &str)> = columns
        .iter()
        .map(|&column| (column, table.columns[column].as_str()))
        .collect();
    Some(drawing(&table.title, bottom + 38.0, &legend, &body))
}
