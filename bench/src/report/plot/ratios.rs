use plotters::coord::combinators::{BindKeyPoints as _, IntoLogRange as _};
use plotters::prelude::*;

use super::marks::{decimal_marks, logarithmic_ends};
use super::{AXIS_HEIGHT, Area, Drawn, GRID, NAMES_WIDTH, colour, drawing, text, text_before};
use crate::report::Table;

const BAR_HEIGHT: u32 = 9;
const GAP_HEIGHT: u32 = 12;
/// The share of a row that its bars take; the rest is the gap to the next one.
const BARS_SHARE: f64 = 0.7;

/// Draws bars from 1, to the left for columns below the baseline. Whiskers span the rounds.
pub(super) fn draw(table: &Table) -> Option<String> {
    let baseline = table.baseline?;
    let columns: Vec<usize> = (0..table.columns.len())
        .filter(|&column| column != baseline)
        .collect();
    let row_height = u32::try_from(columns.len()).ok()? * BAR_HEIGHT + GAP_HEIGHT;
    let height = u32::try_from(table.rows.len()).ok()? * row_height + AXIS_HEIGHT;
    drawing(table, height, &columns, |area| {
        chart(table, baseline, &columns, area)
    })
}

fn chart(table: &Table, baseline: usize, columns: &[usize], area: &Area<'_>) -> Drawn {
    let ratios = table.rows.iter().flat_map(|row| {
        let of_row = columns
            .iter()
            .filter_map(|&column| table.ratio(row, column));
        of_row.flat_map(|ratio| [ratio.least, ratio.most])
    });
    let (least, most) = logarithmic_ends(ratios.chain([1.0]));
    let horizontal = (least..most)
        .log_scale()
        .with_key_points(decimal_marks((least, most)));
    let rows = table.rows.len() as f64;
    // The first row is drawn at the top.
    let vertical = rows..0.0;
    let mut chart = ChartBuilder::on(area)
        .margin_right(20)
        .set_label_area_size(LabelAreaPosition::Left, NAMES_WIDTH)
        .set_label_area_size(LabelAreaPosition::Bottom, AXIS_HEIGHT)
        .build_cartesian_2d(horizontal, vertical)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(text())
        .x_desc(format!("times {}", table.columns[baseline]))
        .x_label_formatter(&|ratio| format!("{}", (ratio * 1e6).round() / 1e6))
        .y_labels(0)
        .draw()?;
    let names = table.rows.iter().enumerate().map(|(number, row)| {
        EmptyElement::at((least, number as f64 + 0.5))
            + Text::new(row.name.clone(), (-8, 0), text_before())
    });
    chart.draw_series(names)?;
    let bar_height = BARS_SHARE / columns.len() as f64;
    for (number, row) in table.rows.iter().enumerate() {
        for (place, &column) in columns.iter().enumerate() {
            let Some(ratio) = table.ratio(row, column) else {
                continue;
            };
            let top = number as f64 + (1.0 - BARS_SHARE) / 2.0 + place as f64 * bar_height;
            let bottom = top + bar_height * 0.8;
            let bar = [
                (ratio.median.min(1.0), top),
                (ratio.median.max(1.0), bottom),
            ];
            let whisker = [
                (ratio.least, f64::midpoint(top, bottom)),
                (ratio.most, f64::midpoint(top, bottom)),
            ];
            chart.draw_series([Rectangle::new(bar, colour(column).filled())])?;
            chart.draw_series([PathElement::new(whisker, BLACK)])?;
        }
    }
    chart.draw_series([PathElement::new([(1.0, 0.0), (1.0, rows)], BLACK)])?;
    Ok(())
}
