use plotters::prelude::*;

use super::{
    AXIS_HEIGHT, Area, Drawn, GRID, NAMES_WIDTH, colour, drawing, text, text_before, text_beside,
};
use crate::report::{Cell, Row, Table};

const ROW_HEIGHT: u32 = 30;
/// The start and the end of a row's bar, as shares of the row's height.
const BAR: (f64, f64) = (0.15, 0.85);
/// Width of the sum behind a bar.
const SUM_WIDTH: u32 = 70;

/// Draws a bar for each row: its columns end to end, with their sum behind them.
pub(super) fn draw(table: &Table) -> Option<String> {
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    let height = u32::try_from(table.rows.len()).ok()? * ROW_HEIGHT + AXIS_HEIGHT;
    drawing(table, height, &columns, |area| chart(table, area))
}

fn chart(table: &Table, area: &Area<'_>) -> Drawn {
    let rows = table.rows.len() as f64;
    let sum = |row: &Row| medians(table, row).iter().sum::<f64>();
    let most = table.rows.iter().map(sum).fold(0.0, f64::max);
    let most = if most > 0.0 { most } else { 1.0 };
    // The first row is drawn at the top.
    let vertical = rows..0.0;
    let mut chart = ChartBuilder::on(area)
        .margin_right(SUM_WIDTH)
        .set_label_area_size(LabelAreaPosition::Left, NAMES_WIDTH)
        .set_label_area_size(LabelAreaPosition::Bottom, AXIS_HEIGHT)
        .build_cartesian_2d(0.0..most, vertical)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(text())
        .x_labels(6)
        .x_label_formatter(&|value| table.unit.shown(*value))
        .y_labels(0)
        .draw()?;
    let names = table.rows.iter().enumerate().map(|(number, row)| {
        EmptyElement::at((0.0, number as f64 + 0.5))
            + Text::new(row.name.clone(), (-8, 0), text_before())
    });
    chart.draw_series(names)?;
    for (number, row) in table.rows.iter().enumerate() {
        let (top, bottom) = (number as f64 + BAR.0, number as f64 + BAR.1);
        let mut end = 0.0;
        for (column, median) in medians(table, row).into_iter().enumerate() {
            let bar = [(end, top), (end + median, bottom)];
            chart.draw_series([Rectangle::new(bar, colour(column).filled())])?;
            end += median;
        }
        let behind = EmptyElement::at((end, number as f64 + 0.5))
            + Text::new(table.unit.shown(end), (6, 0), text_beside());
        chart.plotting_area().draw(&behind)?;
    }
    Ok(())
}

/// Returns the medians of a row's columns; 0 for a column that was not measured.
fn medians(table: &Table, row: &Row) -> Vec<f64> {
    let columns = 0..table.columns.len();
    columns
        .map(|column| {
            let spread = row.cell(column).and_then(Cell::spread);
            spread.map_or(0.0, |spread| spread.median)
        })
        .collect()
}
