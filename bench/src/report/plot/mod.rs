//! Tables drawn as SVG. Colours are Okabe and Ito's, which people with any colour vision tell apart.

mod axis;
mod lines;
mod ratios;
mod stacked;

use super::table::{Plot, Table};

/// The colours of columns, in their order.
const COLOURS: [&str; 8] = [
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#999933", "#555555",
];

/// Width of every plot, in its own units.
const WIDTH: f64 = 860.0;
/// Room for the names of rows.
const NAMES_WIDTH: f64 = 250.0;
/// Height of a line of text.
const LINE_HEIGHT: f64 = 18.0;

/// The table's plot; `None` where it has none.
pub(crate) fn svg(table: &Table) -> Option<String> {
    match table.plot {
        Plot::None => None,
        Plot::Ratios => ratios::draw(table),
        Plot::Lines => lines::draw(table),
        Plot::Stacked => stacked::draw(table),
    }
}

fn colour(column: usize) -> &'static str {
    COLOURS[column % COLOURS.len()]
}

/// Every column, by its name.
fn legend(table: &Table) -> Vec<(usize, &str)> {
    let names = table.columns.iter().map(String::as_str);
    names.enumerate().collect()
}

/// A whole drawing of a height, with its legend on top and a title for those who do not see it.
fn drawing(title: &str, height: f64, legend: &[(usize, &str)], body: &str) -> String {
    let mut keys = String::new();
    let mut x = NAMES_WIDTH;
    for (column, name) in legend {
        keys.push_str(&format!(
            "<rect x=\"{x:.1}\" y=\"4\" width=\"11\" height=\"11\" fill=\"{}\"/>{}",
            colour(*column),
            text(x + 16.0, 14.0, "start", name)
        ));
        x += 34.0 + 7.0 * name.chars().count() as f64;
    }
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\">\
         <title>{}</title>{keys}<g transform=\"translate(0 {LINE_HEIGHT})\">{body}</g></svg>",
        height + LINE_HEIGHT,
        escaped(title)
    )
}

fn text(x: f64, y: f64, anchor: &str, words: &str) -> String {
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escaped(words)
    )
}

fn line(from: (f64, f64), to: (f64, f64), class: &str) -> String {
    format!(
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" class=\"{class}\"/>",
        from.0, from.1, to.0, to.1
    )
}

/// Text as it may stand between tags and in attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
