use super::axis::Axis;
use super::{WIDTH, colour, drawing, legend, line, text};
use crate::report::{Table, Unit};

const HEIGHT: f64 = 260.0;
const LEFT: f64 = 90.0;

/// A line a column, both axes logarithmic, so that what grows as its place does is straight.
pub(super) fn draw(table: &Table) -> Option<String> {
    let places = || table.rows.iter().filter_map(|row| row.at);
    let first = places().next()?;
    // What has no logarithm stands at the left end.
    let smallest = places()
        .filter(|&place| place > 0.0)
        .fold(f64::MAX, f64::min);
    let place_of = |at: f64| if at > 0.0 { at } else { smallest / 10.0 };
    let across = Axis::logarithmic(places().map(place_of), (LEFT, WIDTH - 20.0));
    let medians = table.rows.iter().flat_map(|row| {
        let cells = row.cells.iter().flatten();
        cells.filter_map(|cell| cell.spread().map(|spread| spread.median))
    });
    let up = Axis::logarithmic(medians, (HEIGHT, 8.0));
    let mut body = String::new();
    let marks = match table.unit {
        Unit::Bytes => up.binary_marks(),
        Unit::Seconds => up.marks(),
    };
    for mark in marks {
        let y = up.place(mark);
        body.push_str(&line((LEFT, y), (WIDTH - 20.0, y), "grid"));
        body.push_str(&text(LEFT - 6.0, y + 4.0, "end", &table.unit.shown(mark)));
    }
    for row in &table.rows {
        let x = across.place(place_of(row.at.unwrap_or(first)));
        body.push_str(&line((x, 8.0), (x, HEIGHT), "grid"));
        body.push_str(&text(x, HEIGHT + 16.0, "middle", &row.name));
    }
    for column in 0..table.columns.len() {
        let points: Vec<(f64, f64)> = table
            .rows
            .iter()
            .filter_map(|row| {
                let median = row.cell(column)?.spread()?.median;
                Some((across.place(place_of(row.at?)), up.place(median)))
            })
            .collect();
        body.push_str(&path(&points, colour(column)));
    }
    Some(drawing(&table.title, HEIGHT + 24.0, &legend(table), &body))
}

fn path(points: &[(f64, f64)], colour: &str) -> String {
    let corners: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let dots: String = points
        .iter()
        .map(|(x, y)| format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"))
        .collect();
    format!(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>{dots}",
        corners.join(" ")
    )
}
