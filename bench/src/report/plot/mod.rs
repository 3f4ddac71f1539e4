//! Tables drawn as SVG, by the library plotters. The colours are those of Okabe and Ito, which
//! people with any colour vision can distinguish.

mod lines;
mod marks;
mod ratios;
mod stacked;

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::escape::escaped;
use super::table::{Plot, Table};

/// The colours of columns, in their order.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x99, 0x99, 0x33),
    RGBColor(0x55, 0x55, 0x55),
];
const GRID: RGBColor = RGBColor(0xe3, 0xe3, 0xe3);

/// Width of every plot, in the units of its view box; so are all lengths here.
const WIDTH: u32 = 860;
/// Width of the names of rows.
const NAMES_WIDTH: u32 = 250;
/// Height of an axis with its labels.
const AXIS_HEIGHT: u32 = 40;
/// Height of the legend, which stands on top.
const LEGEND_HEIGHT: u32 = 22;
const TEXT_SIZE: u32 = 12;
/// Average width of a letter, estimated without asking a font.
const LETTER_WIDTH: usize = 7;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;

/// Returns the table's plot. `None` if it has none, or nothing that could be drawn.
pub(crate) fn svg(table: &Table) -> Option<String> {
    match table.plot {
        Plot::None => None,
        Plot::Ratios => ratios::draw(table),
        Plot::Lines => lines::draw(table),
        Plot::Stacked => stacked::draw(table),
    }
}

fn colour(column: usize) -> RGBColor {
    COLOURS[column % COLOURS.len()]
}

/// Draws a legend of `columns` above a chart of `height`, which `chart` draws. `None` if the
/// drawing fails.
fn drawing(
    table: &Table,
    height: u32,
    columns: &[usize],
    chart: impl FnOnce(&Area<'_>) -> Drawn,
) -> Option<String> {
    let mut svg = String::new();
    let draw = || -> Drawn {
        let size = (WIDTH, height + LEGEND_HEIGHT);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let (legend, body) = root.split_vertically(LEGEND_HEIGHT);
        draw_legend(&legend, table, columns)?;
        chart(&body)?;
        root.present()?;
        Ok(())
    };
    // Drawing into memory fails only if a coordinate system is empty.
    draw().ok()?;
    let title = format!("<svg role=\"img\" aria-label=\"{}\"", escaped(&table.title));
    Some(svg.replacen("<svg", &title, 1))
}

fn draw_legend(area: &Area<'_>, table: &Table, columns: &[usize]) -> Drawn {
    let mut left = i32::try_from(NAMES_WIDTH)?;
    for &column in columns {
        let name = table.columns[column].as_str();
        let key = [(left, 4), (left + 11, 15)];
        area.draw(&Rectangle::new(key, colour(column).filled()))?;
        area.draw(&Text::new(name.to_owned(), (left + 16, 4), text()))?;
        left += i32::try_from(34 + LETTER_WIDTH * name.chars().count())?;
    }
    Ok(())
}

fn text() -> TextStyle<'static> {
    ("sans-serif", TEXT_SIZE).into_font().into()
}

/// Returns the style of text whose left end, at half its height, is at a point.
fn text_beside() -> TextStyle<'static> {
    text().pos(Pos::new(HPos::Left, VPos::Center))
}

/// Returns the style of text whose right end, at half its height, is at a point.
fn text_before() -> TextStyle<'static> {
    text().pos(Pos::new(HPos::Right, VPos::Center))
}
