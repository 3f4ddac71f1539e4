use msb_bench_runner::{CacheState, Line, Part, Record};

use crate::report::{Cell, Latency};

const NS_PER_S: f64 = 1e9;

/// The runner's records of one suite with the caches in one state.
pub(super) struct Records<'a> {
    all: Vec<&'a Record>,
    /// The names of the workloads, in their order.
    pub(super) workloads: Vec<String>,
    /// The names of the places, in their order.
    pub(super) places: Vec<String>,
}

impl<'a> Records<'a> {
    pub(super) fn for_part(lines: &'a [Line], part: &Part, cache: CacheState) -> Self {
        let of_part = lines.iter().filter_map(|line| match line {
            Line::Measured(record) => Some(record),
            _ => None,
        });
        let all: Vec<&Record> = of_part
            .filter(|record| record.suite == Some(part.suite) && record.cache == Some(cache))
            .collect();
        let mut workloads: Vec<String> = Vec::new();
        for record in &all {
            if !workloads.contains(&record.workload) {
                workloads.push(record.workload.clone());
            }
        }
        Self {
            all,
            workloads,
            places: part.places.clone(),
        }
    }

    /// Returns the records of a workload in a place, by round.
    pub(super) fn of_cell(&self, workload: &str, place: &str) -> Vec<&'a Record> {
        let mut rounds: Vec<&Record> = self
            .all
            .iter()
            .copied()
            .filter(|record| record.workload == workload && record.place == place)
            .collect();
        rounds.sort_by_key(|record| record.round);
        rounds
    }

    /// Returns the cost of a workload in a place.
    ///
    /// `None` if it has fewer rounds than in other places, because then rounds cannot be compared.
    pub(super) fn cell(&self, workload: &str, place: &str) -> Option<Cell> {
        let records = self.of_cell(workload, place);
        let most = self
            .places
            .iter()
            .map(|place| self.of_cell(workload, place).len())
            .max()?;
        if records.is_empty() || records.len() < most {
            return None;
        }
        let percentile = |figure: fn(&Record) -> u64| {
            let seconds = records
                .iter()
                .map(|record| figure(record) as f64 / NS_PER_S);
            let spread = Cell::from_rounds(seconds.collect()).spread();
            spread.map_or(0.0, |spread| spread.median)
        };
        Some(Cell {
            latency: Some(Latency {
                p50: percentile(|record| record.p50_ns),
                p95: percentile(|record| record.p95_ns),
                p99: percentile(|record| record.p99_ns),
            }),
            operations: records.first().map_or(0, |record| record.operations),
            errors: records.iter().map(|record| record.errors).sum(),
            ..Cell::from_rounds(records.iter().map(|record| record.seconds).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use msb_bench_runner::{CacheState, Line, Part, Record, Suite};

    use super::Records;

    fn line(place: &str, round: u32, seconds: f64) -> Line {
        Line::Measured(Record {
            suite: Some(Suite::Mixed),
            workload: "scan".to_owned(),
            place: place.to_owned(),
            round,
            cache: Some(CacheState::Warm),
            seconds,
            operations: 10,
            errors: 1,
            p50_ns: 1000,
            ..Record::default()
        })
    }

    #[test]
    fn a_cell_has_its_rounds_in_order_and_its_errors_together() {
        let part = Part {
            suite: Suite::Mixed,
            places: vec!["image".to_owned(), "ext4".to_owned()],
            cold: true,
        };
        let lines = [
            line("image", 1, 3.0),
            line("image", 0, 2.0),
            line("ext4", 0, 1.0),
        ];
        let records = Records::for_part(&lines, &part, CacheState::Warm);
        assert_eq!(records.workloads, ["scan"]);
        let cell = records.cell("scan", "image").unwrap();
        assert_eq!(
            (cell.rounds, cell.operations, cell.errors),
            (vec![2.0, 3.0], 10, 2)
        );
        // With one round less, the ratios would compare different rounds.
        assert_eq!(records.cell("scan", "ext4"), None);
        assert!(
            Records::for_part(&lines, &part, CacheState::Cold)
                .workloads
                .is_empty()
        );
    }
}
