use serde::Serialize;

/// The cost of one item: a figure of every counted round, and the latencies of single operations.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Cell {
    /// Figures in the table's unit, round by round. Rounds of a table's cells ran in turn.
    pub(crate) rounds: Vec<f64>,
    /// Latencies of the operations of a round: medians of the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latency: Option<Latency>,
    /// The number of operations in a round.
    pub(crate) operations: u64,
    /// The number of failed operations in all rounds.
    pub(crate) errors: u64,
}

/// Percentiles of the durations of single operations, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
}

/// The least, the median and the greatest of some figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) most: f64,
}

impl Cell {
    /// Returns a cell with the figure of a single measurement.
    pub(crate) fn once(figure: f64) -> Self {
        Self::from_rounds(vec![figure])
    }

    pub(crate) fn from_rounds(rounds: Vec<f64>) -> Self {
        Self {
            rounds,
            latency: None,
            operations: 1,
            errors: 0,
        }
    }

    pub(crate) fn spread(&self) -> Option<Spread> {
        Spread::from_figures(self.rounds.clone())
    }

    /// Returns the ratio to another cell, round by round. `None` if no pair of rounds has a ratio.
    pub(crate) fn ratio_to(&self, other: &Self) -> Option<Spread> {
        let pairs = self.rounds.iter().zip(&other.rounds);
        Spread::from_figures(
            pairs
                .map(|(this, other)| this / other)
                .filter(|ratio| ratio.is_finite())
                .collect(),
        )
    }
}

impl Spread {
    /// Returns the spread of some figures. `None` if there are none.
    pub(crate) fn from_figures(mut figures: Vec<f64>) -> Option<Self> {
        figures.sort_by(f64::total_cmp);
        Some(Self {
            least: *figures.first()?,
            median: *figures.get(figures.len() / 2)?,
            most: *figures.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Spread};

    #[test]
    fn ratios_are_taken_round_by_round() {
        let slow = Cell::from_rounds(vec![2.0, 6.0, 3.0]);
        let fast = Cell::from_rounds(vec![1.0, 2.0, 3.0]);
        let expected = Spread {
            least: 1.0,
            median: 2.0,
            most: 3.0,
        };
        assert_eq!(slow.ratio_to(&fast), Some(expected));
        assert_eq!(slow.ratio_to(&Cell::default()), None);
        assert_eq!(slow.ratio_to(&Cell::once(0.0)), None);
    }
}
