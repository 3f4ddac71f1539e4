use plotters::coord::combinators::{BindKeyPoints as _, IntoLogRange as _};
use plotters::prelude::*;

use super::marks::{logarithmic_ends, logarithmic_marks};
use super::{Area, Drawn, GRID, colour, drawing, text};
use crate::report::Table;

const HEIGHT: u32 = 290;
const LABELS_WIDTH: u32 = 90;
const LABELS_HEIGHT: u32 = 26;

/// Draws a line for each column on logarithmic axes, so that proportional growth is straight.
pub(super) fn draw(table: &Table) -> Option<String> {
    table.rows.iter().find_map(|row| row.at)?;
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    drawing(table, HEIGHT, &columns, |area| chart(table, area))
}

fn chart(table: &Table, area: &Area<'_>) -> Drawn {
    let places = places(table);
    let across = logarithmic_ends(places.iter().map(|&(place, _)| place));
    let medians = (0..table.columns.len()).flat_map(|column| points(table, &places, column));
    let up = logarithmic_ends(medians.map(|(_, median)| median));
    let name = |place: &f64| {
        let row = places
            .iter()
            .find(|(at, _)| (at / place - 1.0).abs() < 1e-6);
        row.map_or_else(String::new, |&(_, row)| table.rows[row].name.clone())
    };
    let horizontal = (across.0..across.1)
        .log_scale()
        .with_key_points(places.iter().map(|&(place, _)| place).collect());
    let vertical = (up.0..up.1)
        .log_scale()
        .with_key_points(logarithmic_marks(table.unit, up));
    let mut chart = ChartBuilder::on(area)
        .margin_right(20)
        .margin_top(8)
        .set_label_area_size(LabelAreaPosition::Left, LABELS_WIDTH)
        .set_label_area_size(LabelAreaPosition::Bottom, LABELS_HEIGHT)
        .build_cartesian_2d(horizontal, vertical)?;
    chart
        .configure_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(text())
        .x_label_formatter(&name)
        .y_label_formatter(&|value| table.unit.shown(*value))
        .draw()?;
    for column in 0..table.columns.len() {
        let points: Vec<(f64, f64)> = points(table, &places, column).collect();
        let line = colour(column).stroke_width(2);
        chart.draw_series(LineSeries::new(points.iter().copied(), line))?;
        let dot = |&point| Circle::new(point, 3, colour(column).filled());
        chart.draw_series(points.iter().map(dot))?;
    }
    Ok(())
}

/// Returns the rows that have a place on the axis, each with that place. A place without a
/// logarithm is drawn at a tenth of the smallest one that has a logarithm.
fn places(table: &Table) -> Vec<(f64, usize)> {
    let positive = table.rows.iter().filter_map(|row| row.at);
    let smallest = positive
        .filter(|&place| place > 0.0)
        .fold(f64::MAX, f64::min);
    let place = |at: f64| if at > 0.0 { at } else { smallest / 10.0 };
    let rows = table.rows.iter().enumerate();
    rows.filter_map(|(number, row)| Some((place(row.at?), number)))
        .collect()
}

fn points<'a>(
    table: &'a Table,
    places: &'a [(f64, usize)],
    column: usize,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    places.iter().filter_map(move |&(place, row)| {
        let median = table.rows[row].cell(column)?.spread()?.median;
        Some((place, median))
    })
}
