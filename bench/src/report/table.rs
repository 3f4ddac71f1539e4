use serde::Serialize;

use super::cell::{Cell, Spread};
use super::conditions::Conditions;
use super::unit::Unit;

/// Figures side by side, with their conditions.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) conditions: Conditions,
    pub(crate) unit: Unit,
    pub(crate) columns: Vec<String>,
    /// The index of the column that the others are divided by.
    pub(crate) baseline: Option<usize>,
    pub(crate) rows: Vec<Row>,
    #[serde(skip)]
    pub(crate) plot: Plot,
}

/// One row: an item, with its cost in each column.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The row's position on the axis of a plot of lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<f64>,
    /// A cell for each column; `None` if it was not measured.
    pub(crate) cells: Vec<Option<Cell>>,
}

/// The kind of a table's plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plot {
    /// The table has no plot.
    None,
    /// A bar for each cell: the ratio to the baseline, on a logarithmic axis.
    Ratios,
    /// A line for each column, through the medians at the rows' positions.
    Lines,
    /// A bar for each row, with its columns end to end.
    Stacked,
}

impl Row {
    pub(crate) fn new(name: impl Into<String>, cells: Vec<Option<Cell>>) -> Self {
        Self {
            name: name.into(),
            at: None,
            cells,
        }
    }

    pub(crate) fn at(place: f64, name: impl Into<String>, cells: Vec<Option<Cell>>) -> Self {
        Self {
            at: Some(place),
            ..Self::new(name, cells)
        }
    }

    pub(crate) fn cell(&self, column: usize) -> Option<&Cell> {
        self.cells.get(column)?.as_ref()
    }
}

impl Table {
    /// Returns the ratio of a column to the baseline in a row. `None` for the baseline itself.
    pub(crate) fn ratio(&self, row: &Row, column: usize) -> Option<Spread> {
        let baseline = self.baseline.filter(|&baseline| baseline != column)?;
        row.cell(column)?.ratio_to(row.cell(baseline)?)
    }

    /// Returns the geometric mean of a column's median ratios. `None` if it has no ratios.
    pub(crate) fn geometric_mean(&self, column: usize) -> Option<f64> {
        let logarithms: Vec<f64> = self
            .rows
            .iter()
            .filter_map(|row| self.ratio(row, column))
            .map(|ratio| ratio.median.ln())
            .collect();
        let count = u32::try_from(logarithms.len())
            .ok()
            .filter(|&count| count > 0)?;
        Some((logarithms.iter().sum::<f64>() / f64::from(count)).exp())
    }
}
