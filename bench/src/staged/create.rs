//! Sandboxes that are created with a staged directory, beside `cp -a` of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::home::{Home, IMAGE};
use super::{Arguments, LARGE, Measured, PROJECT, Shape, at_most_s};
use crate::measure::{self, Cost};
use crate::msb::Msb;
use crate::report::{Cache, Cell, Durability, Plot, Row, Table, Target, Unit};

/// The columns, in the order of a round.
const COLUMNS: [&str; 5] = [
    "cp -a",
    "create",
    "create, newly staged",
    "create, staged before",
    "create --copy",
];
const COPIED: usize = 0;
const PLAIN: usize = 1;
const FIRST: usize = 2;
const UNCHANGED: usize = 3;
/// The longest time that staging the project adds to a creation, in seconds: for the first time, and of files
/// that are staged already.
const FIRST_MAX_S: f64 = 0.3;
const UNCHANGED_MAX_S: f64 = 0.05;
/// The largest ratio of the first creation with the large directory to a copy of it.
const RATIO_MAX: f64 = 1.2;
/// The most memory of that creation.
const MEMORY_MAX_MIB: f64 = 128.0;

/// The costs of each column, round by round.
type Costs = [Vec<Cost>; COLUMNS.len()];

/// Creates sandboxes in turn.
pub(super) fn measure(arguments: &Arguments, msb: &Msb, shape: Shape) -> Result<Measured> {
    let work = tempfile::tempdir_in(&arguments.work)?;
    let home = Home::make(msb, work.path())?;
    let tree = work.path().join("tree");
    shape.write(&tree)?;
    let mut costs = Costs::default();
    for round in 0..=arguments.rounds {
        let of_round = self::round(&home, work.path(), &tree)?;
        // The first round warms the caches.
        if round > 0 {
            for (costs, cost) in costs.iter_mut().zip(of_round) {
                costs.push(cost);
            }
        }
    }
    let targets = judge(shape, &costs);
    Ok((tables(arguments, shape, &costs), targets))
}

/// Copies the directory once, and creates each kind of sandbox once.
fn round(home: &Home, work: &Path, tree: &Path) -> Result<[Cost; COLUMNS.len()]> {
    let copy = work.join("copy");
    let mut copying = Command::new("cp");
    copying.arg("-a").arg(tree).arg(&copy);
    let copied = measure::cost(&copying, work)?;
    fs::remove_dir_all(copy)?;
    let staged = format!("{}:/work:staged", tree.display());
    let create = |name: &str, options: &[&str]| {
        let mut create = home.msb.command();
        create.args(["create", "--quiet", "--no-command", "--network", "none"]);
        create.args(["--name", name]).args(options).arg(IMAGE);
        measure::cost(&create, work)
    };
    let plain = create("plain", &[])?;
    let first = create("first", &["--volume", &staged])?;
    let unchanged = create("unchanged", &["--volume", &staged])?;
    home.msb.output(["rm", "plain", "first", "unchanged"])?;
    home.forget_staged()?;
    let inside = create("copied", &["--copy", &format!("{}:/work", tree.display())])?;
    home.msb.output(["rm", "copied"])?;
    // The next round does not wait for the disk to forget this one's files.
    rustix::fs::syncfs(fs::File::open(work)?)?;
    Ok([copied, plain, first, unchanged, inside])
}

fn tables(arguments: &Arguments, shape: Shape, costs: &Costs) -> Vec<Table> {
    let row = |name: &str, figure: fn(&Cost) -> f64| {
        let cell = |costs: &Vec<Cost>| Some(Cell::from_rounds(costs.iter().map(figure).collect()));
        Row::new(name, costs.iter().map(cell).collect())
    };
    let table = |what: &str, unit, rows| Table {
        title: format!("Creation with {}: {what}", shape.words()),
        conditions: arguments.conditions(
            (Cache::Warm, Durability::Synced),
            shape,
            &[
                "whole commands, the start of the program included",
                "the clock stops when all of it is on the disk",
            ],
        ),
        unit,
        columns: COLUMNS.map(str::to_owned).into(),
        baseline: Some(COPIED),
        rows,
        plot: Plot::Ratios,
    };
    let times = vec![
        row("wall", |cost| cost.wall_s),
        row("processors", |cost| cost.cpu_s),
    ];
    let bytes = vec![
        row("most memory of a process", |cost| {
            cost.peak_memory_bytes as f64
        }),
        row("sent to the disk", |cost| cost.written_bytes as f64),
    ];
    vec![
        table("time", Unit::Seconds, times),
        table("bytes", Unit::Bytes, bytes),
    ]
}

/// Judges the two directories that the targets are about.
fn judge(shape: Shape, costs: &Costs) -> Vec<Target> {
    let words = shape.words();
    let added = |column: usize| -> Vec<f64> {
        let pairs = costs[column].iter().zip(&costs[PLAIN]);
        pairs
            .map(|(staged, plain)| staged.wall_s - plain.wall_s)
            .collect()
    };
    if shape == PROJECT {
        let first = format!("{words}, staged for the first time, over a plain create");
        let unchanged = format!("{words}, staged unchanged, over a plain create");
        let targets = [
            at_most_s(&first, added(FIRST), FIRST_MAX_S),
            at_most_s(&unchanged, added(UNCHANGED), UNCHANGED_MAX_S),
        ];
        return targets.into_iter().flatten().collect();
    }
    if shape != LARGE {
        return Vec::new();
    }
    let cell = |column: usize, figure: fn(&Cost) -> f64| {
        Cell::from_rounds(costs[column].iter().map(figure).collect())
    };
    let ratio = cell(FIRST, |cost| cost.wall_s).ratio_to(&cell(COPIED, |cost| cost.wall_s));
    let time = ratio.map(|ratio| {
        let ratio = ratio.median;
        let words = format!("{words}, staged for the first time: {ratio:.2} of the time of cp -a (at most {RATIO_MAX})");
        Target::new(ratio <= RATIO_MAX, words)
    });
    let memory = cell(FIRST, |cost| cost.peak_memory_bytes as f64).spread();
    let memory = memory.map(|memory| {
        let mib = memory.most / 1_048_576.0;
        let words = format!("{words}, staged: {mib:.0} MiB of memory (at most {MEMORY_MAX_MIB})");
        Target::new(mib <= MEMORY_MAX_MIB, words)
    });
    time.into_iter().chain(memory).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(wall_s: [f64; COLUMNS.len()]) -> Costs {
        wall_s.map(|wall_s| {
            vec![Cost {
                wall_s,
                cpu_s: 0.0,
                peak_memory_bytes: 200 << 20,
                written_bytes: 0,
            }]
        })
    }

    #[test]
    fn each_directory_has_its_targets() {
        let measured = costs([2.0, 0.5, 2.6, 0.531_25, 3.0]);
        let verdicts = |shape| -> Vec<bool> {
            let judged = judge(shape, &measured);
            judged.iter().map(|target| target.met).collect()
        };
        assert_eq!(verdicts(PROJECT), [false, true]);
        assert_eq!(verdicts(LARGE), [false, false]);
        let other = Shape { files: 9, mib: 1 };
        assert!(verdicts(other).is_empty());
        let words = &judge(PROJECT, &measured)[1].words;
        assert!(words.ends_with("31.2 ms (at most 50.0 ms)"), "{words}");
    }
}
