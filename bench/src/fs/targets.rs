use msb_bench_runner::{CacheState, Suite};

use super::places::{EXT4, IMAGE, OVERLAY, VIRTIOFS};
use super::tables::Shown;
use super::words::cache;
use crate::report::{Table, Target};

/// The least share of plain ext4's speed in workloads that only read the image's files.
const WARM_SHARE: f64 = 0.95;
const COLD_SHARE: f64 = 1.0;
/// The least share of an overlay's speed over plain directories, in the fourteen mixed workloads.
const OVERLAY_SHARE: f64 = 1.0;
/// The least multiple of virtio-fs's speed in the seven metadata workloads.
const VIRTIOFS_TIMES: f64 = 20.0;

/// The mixed workloads that only read the image's files. The others write, or read their own files.
const READERS: [&str; 4] = [
    "metadata_scan_stdlib",
    "read_all_py_stdlib",
    "random_read_stdlib",
    "concurrent_read_4t",
];

/// Judges the image's column against each column that was measured.
pub(super) fn judge(tables: &[Shown]) -> Vec<Target> {
    let whole = |shown: &&Shown| shown.table.columns.iter().any(|column| column == IMAGE);
    let mut targets = Vec::new();
    for state in [CacheState::Warm, CacheState::Cold] {
        let share = match state {
            CacheState::Warm => WARM_SHARE,
            CacheState::Cold => COLD_SHARE,
        };
        let of = |suite| {
            let mut shown = tables.iter().filter(whole);
            let found = shown.find(|shown| shown.suite == suite && shown.cache == state);
            found.map(|shown| &shown.table)
        };
        let (metadata, mixed) = (of(Suite::Metadata), of(Suite::Mixed));
        let state = cache(state);
        if let (Some(metadata), Some(mixed)) = (metadata, mixed) {
            let readers = readers(metadata, mixed);
            let words = format!("what reads the image's files, {state}");
            targets.extend(speed(&readers, EXT4, share, &words));
        }
        if let Some(metadata) = metadata {
            let words = format!("seven metadata workloads, {state}");
            targets.extend(speed(metadata, VIRTIOFS, VIRTIOFS_TIMES, &words));
        }
        if let Some(mixed) = mixed {
            let words = format!("fourteen mixed workloads, {state}");
            targets.extend(speed(mixed, OVERLAY, OVERLAY_SHARE, &words));
        }
    }
    targets
}

/// Returns the seven metadata workloads, and the mixed ones that only read.
fn readers(metadata: &Table, mixed: &Table) -> Table {
    let is_reader = |name: &String| READERS.contains(&name.as_str());
    let mut readers = metadata.clone();
    if mixed.columns == metadata.columns {
        let rows = mixed.rows.iter().filter(|row| is_reader(&row.name));
        readers.rows.extend(rows.cloned());
    }
    readers
}

/// Judges the geometric mean of the image's speed relative to another place's, over all workloads.
fn speed(table: &Table, other: &str, wanted: f64, words: &str) -> Option<Target> {
    let column = |name: &str| table.columns.iter().position(|column| column == name);
    let against = Table {
        baseline: Some(column(other)?),
        ..table.clone()
    };
    let times = 1.0 / against.geometric_mean(column(IMAGE)?)?;
    Some(Target::new(
        times >= wanted,
        format!("{words}: {times:.2} times the speed of {other} (at least {wanted})"),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tables::Shown;
    use super::{CacheState, Suite, judge};
    use crate::report::{Cache, Cell, Conditions, Durability, Plot, Row, Table, Unit};

    fn shown(suite: Suite, cache: CacheState, rows: &[(&str, [f64; 3])]) -> Shown {
        let row = |(name, seconds): &(&str, [f64; 3])| {
            let cells = seconds.map(|seconds| Some(Cell::from_rounds(vec![seconds])));
            Row::new(*name, cells.to_vec())
        };
        Shown {
            suite,
            cache,
            table: Table {
                title: String::new(),
                conditions: Conditions {
                    cache: Cache::Warm,
                    durability: Durability::ReadOnly,
                    place: String::new(),
                    notes: Vec::new(),
                },
                unit: Unit::Seconds,
                columns: ["image", "overlay", "ext4"].map(str::to_owned).into(),
                baseline: Some(2),
                rows: rows.iter().map(row).collect(),
                plot: Plot::None,
            },
        }
    }

    #[test]
    fn speeds_are_judged_where_the_other_column_is_there() {
        let metadata = [("scan", [2.0, 9.0, 1.0]), ("list", [1.0, 9.0, 2.0])];
        let mixed = [
            ("random_read_stdlib", [1.0, 2.0, 4.0]),
            ("rename_1k", [4.0, 2.0, 1.0]),
        ];
        let warm = |suite, rows| shown(suite, CacheState::Warm, rows);
        let targets = judge(&[warm(Suite::Metadata, &metadata), warm(Suite::Mixed, &mixed)]);
        let words: Vec<&str> = targets.iter().map(|target| target.words.as_str()).collect();
        assert_eq!(
            words,
            [
                "what reads the image's files, warm: 1.59 times the speed of ext4 (at least 0.95)",
                "fourteen mixed workloads, warm: 1.00 times the speed of overlay (at least 1)",
            ],
            "there is no virtio-fs"
        );
        assert!(targets.iter().all(|target| target.met));
        let cold = |suite, rows| shown(suite, CacheState::Cold, rows);
        let slow = [
            cold(Suite::Metadata, &metadata[..1]),
            cold(Suite::Mixed, &[]),
        ];
        let targets = judge(&slow);
        assert_eq!(targets.len(), 1, "nothing is known of the fourteen");
        assert!(!targets[0].met && targets[0].words.contains("0.50"));
    }
}
