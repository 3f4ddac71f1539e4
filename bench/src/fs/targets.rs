use msb_bench_runner::{CacheState, Suite};

use super::places::{EXT4, IMAGE, OVERLAY, VIRTIOFS};
use super::tables::Shown;
use super::words::cache;
use crate::report::{Table, Target};

/// Of plain ext4's speed, at least.
const WARM_SHARE: f64 = 0.95;
const COLD_SHARE: f64 = 1.0;
/// Of the speed of an overlay over plain directories, at least.
const OVERLAY_SHARE: f64 = 1.0;
/// Times virtio-fs's speed, at least.
const VIRTIOFS_TIMES: f64 = 20.0;

/// Judges the image's column where what it is to be compared with was measured.
pub(super) fn judge(tables: &[Shown]) -> Vec<Target> {
    let whole = |shown: &&Shown| shown.table.columns.iter().any(|column| column == IMAGE);
    let mut targets = Vec::new();
    for shown in tables.iter().filter(whole) {
        let share = match shown.cache {
            CacheState::Warm => WARM_SHARE,
            CacheState::Cold => COLD_SHARE,
        };
        let suite = match shown.suite {
            Suite::Mixed => "mixed workloads",
            Suite::Metadata => "metadata workloads",
            _ => continue,
        };
        let words = format!("{suite}, {}", cache(shown.cache));
        targets.extend(speed(&shown.table, EXT4, share, &words));
        if shown.suite == Suite::Mixed {
            targets.extend(speed(&shown.table, OVERLAY, OVERLAY_SHARE, &words));
        }
        if shown.suite == Suite::Metadata {
            targets.extend(speed(&shown.table, VIRTIOFS, VIRTIOFS_TIMES, &words));
        }
    }
    targets
}

/// The image's speed over another place's, the geometric mean of all workloads.
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

    #[test]
    fn speeds_are_judged_where_the_other_column_is_there() {
        let row = |image: f64, ext4: f64| {
            let cells = [image, ext4].map(|seconds| Some(Cell::of_rounds(vec![seconds])));
            Row::new("scan", cells.to_vec())
        };
        let table = Table {
            title: String::new(),
            conditions: Conditions {
                cache: Cache::Warm,
                durability: Durability::ReadOnly,
                place: String::new(),
                notes: Vec::new(),
            },
            unit: Unit::Seconds,
            columns: vec!["image".to_owned(), "ext4".to_owned()],
            baseline: Some(1),
            rows: vec![row(2.0, 1.0), row(1.0, 2.0)],
            plot: Plot::None,
        };
        let shown = |cache| Shown {
            suite: Suite::Metadata,
            cache,
            table: table.clone(),
        };
        let targets = judge(&[shown(CacheState::Warm)]);
        assert_eq!(targets.len(), 1, "there is no virtio-fs");
        assert!(targets[0].met, "{}", targets[0].words);
        let mut slow = shown(CacheState::Cold);
        slow.table.rows.remove(1);
        let targets = judge(&[slow]);
        assert!(
            !targets[0].met && targets[0].words.contains("0.50"),
            "{}",
            targets[0].words
        );
    }
}
