use msb_bench_runner::{CacheState, Suite};

use super::records::Records;
use super::words;
use super::{Outcome, places};
use crate::report::{Cache, Cell, Conditions, Plot, Row, Table, Unit};

const NS_PER_S: f64 = 1e9;

/// A table, with the suite and the state of the caches that it shows.
pub(super) struct Shown {
    pub(super) suite: Suite,
    pub(super) cache: CacheState,
    pub(super) table: Table,
}

/// Returns tables for each suite and state of the caches that has records.
///
/// They show the times of workloads, the percentiles of single operations, and the growth of
/// filesystems.
pub(super) fn from_outcome(outcome: &Outcome, kernel: &str) -> Vec<Shown> {
    let mut tables = Vec::new();
    for part in &outcome.request.parts {
        for cache in [CacheState::Warm, CacheState::Cold] {
            let records = Records::for_part(&outcome.lines, part, cache);
            if records.workloads.is_empty() {
                continue;
            }
            let mut conditions = words::conditions(outcome, part, cache, tables.is_empty());
            let title = format!(
                "{} {kernel}, {}",
                words::title(part.suite),
                words::cache(cache)
            );
            let mut show = |table| {
                tables.push(Shown {
                    suite: part.suite,
                    cache,
                    table,
                })
            };
            show(times(title.clone(), conditions.clone(), &records));
            conditions.notes.clear();
            "places as above".clone_into(&mut conditions.place);
            show(single_operations(&title, conditions.clone(), &records));
            if part.suite == Suite::CopyUp {
                show(growth(&title, conditions, &records));
            }
        }
    }
    tables
}

/// Returns the times of whole workloads, with plain ext4 as the baseline if it was measured.
fn times(title: String, conditions: Conditions, records: &Records<'_>) -> Table {
    let cell = |workload: &str, place: &str| records.cell(workload, place);
    Table {
        title,
        conditions,
        unit: Unit::Seconds,
        columns: records.places.clone(),
        baseline: records
            .places
            .iter()
            .position(|place| place == places::EXT4),
        rows: rows(records, cell),
        plot: Plot::Ratios,
    }
}

/// Returns three percentiles of the first place, which is msb's own, and of the last.
fn single_operations(title: &str, conditions: Conditions, records: &Records<'_>) -> Table {
    let (first, last) = (records.places.first(), records.places.last());
    let mut places: Vec<&String> = first.into_iter().chain(last).collect();
    places.dedup();
    let columns = places
        .iter()
        .flat_map(|place| ["p50", "p95", "p99"].map(|percentile| format!("{place} {percentile}")));
    let row = |workload: &str| {
        let cells = places.iter().flat_map(|place| {
            let records = records.of_cell(workload, place);
            let figures: [fn(&msb_bench_runner::Record) -> u64; 3] = [
                |record| record.p50_ns,
                |record| record.p95_ns,
                |record| record.p99_ns,
            ];
            figures.map(|figure| {
                let seconds = records
                    .iter()
                    .map(|record| figure(record) as f64 / NS_PER_S);
                (!records.is_empty()).then(|| Cell::from_rounds(seconds.collect()))
            })
        });
        Row::new(workload, cells.collect())
    };
    Table {
        title: format!("{title}: single operations"),
        conditions,
        unit: Unit::Seconds,
        columns: columns.collect(),
        baseline: None,
        rows: records
            .workloads
            .iter()
            .map(|workload| row(workload))
            .collect(),
        plot: Plot::None,
    }
}

/// Returns the growth of the used space during a workload.
fn growth(title: &str, conditions: Conditions, records: &Records<'_>) -> Table {
    let cell = |workload: &str, place: &str| {
        let records = records.of_cell(workload, place);
        let grown = records.iter().filter_map(|record| record.growth_bytes);
        let figures: Vec<f64> = grown.map(|bytes| bytes as f64).collect();
        (!figures.is_empty()).then(|| Cell::from_rounds(figures))
    };
    Table {
        title: format!("{title}: growth of the filesystem, after a sync"),
        conditions: Conditions {
            cache: Cache::Any,
            ..conditions
        },
        unit: Unit::Bytes,
        columns: records.places.clone(),
        baseline: None,
        rows: rows(records, cell),
        plot: Plot::None,
    }
}

fn rows(records: &Records<'_>, cell: impl Fn(&str, &str) -> Option<Cell>) -> Vec<Row> {
    let row = |workload: &String| {
        let cells = records.places.iter().map(|place| cell(workload, place));
        Row::new(workload.as_str(), cells.collect())
    };
    records.workloads.iter().map(row).collect()
}
