//! A thousand changes of a staged directory: listing them, showing them as a patch, and applying them.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::home::{Home, IMAGE};
use super::tree::path_of;
use super::{Arguments, Measured, Shape, at_most_s, upper};
use crate::measure::{self, Cost};
use crate::msb::{Msb, text};
use crate::report::{Cache, Cell, Durability, Plot, Row, Table, Target, Unit};

/// The most changes: of each ten, eight are other contents, one is a new file, and one is a removal.
const CHANGES: u32 = 1_000;
/// The longest time of a review, in seconds.
const REVIEW_MAX_S: f64 = 1.0;
/// The most memory of a review.
const MEMORY_MAX_MIB: f64 = 128.0;
/// The least speed of `msb apply`, as a part of that of `cp`.
const SPEED_MIN: f64 = 0.8;
/// The name of the sandbox.
const NAME: &str = "changed";

/// An operation of msb, its counterpart, and the costs of both.
struct Pair {
    name: &'static str,
    theirs: Vec<Cost>,
    ours: Vec<Cost>,
}

/// The files that change, by their numbers.
struct Changes {
    changed: Range<u32>,
    added: Range<u32>,
    removed: Range<u32>,
}

/// The directories of the part.
struct Bench {
    home: Home,
    shape: Shape,
    changes: Changes,
    work: PathBuf,
}

/// Makes the changes once, and reviews and applies them in turn with the programs of the host.
pub(super) fn measure(arguments: &Arguments, msb: &Msb, shape: Shape) -> Result<Measured> {
    let work = tempfile::tempdir_in(&arguments.work)?;
    let bench = Bench {
        home: Home::make(msb, work.path())?,
        shape,
        changes: Changes::of(shape),
        work: work.path().canonicalize()?,
    };
    bench.make()?;
    let mut pairs = ["list", "patch", "apply"].map(Pair::named);
    for round in 0..=arguments.rounds {
        for pair in &mut pairs {
            let (theirs, ours) = bench.commands(pair.name);
            bench.take_back()?;
            let theirs = measure::cost(&theirs, &bench.work)?;
            let ours = measure::cost(&ours, &bench.work)?;
            // The first round warms the caches.
            if round > 0 {
                pair.theirs.push(theirs);
                pair.ours.push(ours);
            }
        }
    }
    let targets = judge(&pairs, bench.changes.count());
    Ok((bench.tables(arguments, &pairs), targets))
}

impl Changes {
    fn of(shape: Shape) -> Self {
        let tenth = CHANGES.min(shape.files / 2) / 10;
        let changed = 0..8 * tenth;
        Self {
            removed: changed.end..changed.end + tenth,
            added: shape.files..shape.files + tenth,
            changed,
        }
    }

    fn count(&self) -> usize {
        self.changed.len() + self.added.len() + self.removed.len()
    }
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    /// Makes the staged directory, two copies of it, the changed files, and the sandbox that has the changes.
    fn make(&self) -> Result<()> {
        let (tree, changed) = (self.path("tree"), self.path("changed"));
        // New files are in directories that exist.
        let all = self.shape;
        let Changes { added, removed, .. } = &self.changes;
        all.write_some(&tree, added.clone(), "directories")?;
        all.write(&tree)?;
        for number in added.clone() {
            fs::remove_file(tree.join(path_of(number)))?;
        }
        all.write_some(&changed, self.changes.changed.clone(), "changed")?;
        all.write_some(&changed, added.clone(), "added")?;
        // A removal needs the directory that it is in.
        all.write_some(&changed, removed.clone(), "removed")?;
        for number in removed.clone() {
            fs::remove_file(changed.join(path_of(number)))?;
        }
        for copy in ["old", "copied"] {
            text(Command::new("cp").arg("-a").arg(&tree).arg(self.path(copy)))?;
        }
        let reviewed = self.path("reviewed");
        text(Command::new("cp").arg("-a").arg(&tree).arg(&reviewed))?;
        text(&mut copy(&changed, &reviewed))?;
        for number in removed.clone() {
            fs::remove_file(reviewed.join(path_of(number)))?;
        }
        let staged = format!("{}:/work:staged", tree.display());
        let create = ["create", "--quiet", "--no-command", "--network", "none"];
        let own = ["--name", NAME, "--volume", &staged, IMAGE];
        self.home.msb.output(create.into_iter().chain(own))?;
        let removed: Vec<PathBuf> = removed.clone().map(path_of).collect();
        upper::write(&self.home.sandbox()?, &changed, &removed)?;
        let listed = self.home.msb.output(["diff", "--name-only", NAME])?;
        let found = listed.lines().count();
        let wanted = self.changes.count();
        ensure!(
            found == wanted,
            "msb diff lists {found} changes, not {wanted}"
        );
        Ok(())
    }

    /// Returns the counterpart of an operation, and the operation.
    fn commands(&self, name: &str) -> (Command, Command) {
        let mut ours = self.home.msb.command();
        let compare = |options: &str| {
            let mut shell = Command::new("sh");
            let script = format!("diff {options} \"$0\" \"$1\"; [ $? = 1 ]");
            shell.args(["-c", &script]);
            shell.arg(self.path("tree")).arg(self.path("reviewed"));
            shell
        };
        match name {
            "list" => {
                ours.args(["diff", NAME]);
                (compare("-rq"), ours)
            }
            "patch" => {
                ours.args(["diff", "--patch", NAME]);
                (compare("-ruN"), ours)
            }
            _ => {
                ours.args(["apply", NAME]);
                (copy(&self.path("changed"), &self.path("copied")), ours)
            }
        }
    }

    /// Gives the staged directory, and the copy that `cp` writes to, the old files again.
    fn take_back(&self) -> Result<()> {
        let Changes {
            changed,
            added,
            removed,
        } = &self.changes;
        for directory in ["tree", "copied"] {
            let directory = self.path(directory);
            for number in added.clone() {
                let path = directory.join(path_of(number));
                if path.exists() {
                    fs::remove_file(path)?;
                }
            }
            let mut restore = Command::new("cp");
            // A file that is removed first gets new blocks, as one that did not exist.
            restore.args(["-a", "--remove-destination"]);
            restore.arg("--parents");
            for number in changed.clone().chain(removed.clone()) {
                restore.arg(path_of(number));
            }
            text(restore.arg(&directory).current_dir(self.path("old")))?;
        }
        rustix::fs::syncfs(fs::File::open(&self.work)?)?;
        Ok(())
    }

    fn tables(&self, arguments: &Arguments, pairs: &[Pair]) -> Vec<Table> {
        let conditions = || {
            let count = self.changes.count();
            let changes = format!(
                "{count} changes: of ten, eight are other contents, one is a new file, and one is a removal"
            );
            arguments.conditions(
                (Cache::Warm, Durability::Mixed),
                self.shape,
                &[
                    &changes,
                    "list: diff -rq and msb diff; patch: diff -ruN and msb diff --patch; apply: cp -a of the new \
                     contents over the old ones, and msb apply",
                    "whole commands, the start of the program included; the clock of apply and of cp stops when \
                     all is on the disk",
                ],
            )
        };
        let table = |what: &str, unit, figure: fn(&Cost) -> f64| Table {
            title: format!("A thousand changes: {what}"),
            conditions: conditions(),
            unit,
            columns: vec!["the host's programs".to_owned(), "msb".to_owned()],
            baseline: Some(0),
            rows: pairs.iter().map(|pair| pair.row(figure)).collect(),
            plot: Plot::Ratios,
        };
        vec![
            table("time", Unit::Seconds, |cost| cost.wall_s),
            table("most memory", Unit::Bytes, |cost| {
                cost.peak_memory_bytes as f64
            }),
        ]
    }
}

/// Returns a copy of the files in a directory over those of another one.
fn copy(from: &Path, to: &Path) -> Command {
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(from.join(".")).arg(to);
    copy
}

impl Pair {
    const fn named(name: &'static str) -> Self {
        Self {
            name,
            theirs: Vec::new(),
            ours: Vec::new(),
        }
    }

    fn row(&self, figure: fn(&Cost) -> f64) -> Row {
        let cell = |costs: &[Cost]| Some(Cell::from_rounds(costs.iter().map(figure).collect()));
        Row::new(self.name, vec![cell(&self.theirs), cell(&self.ours)])
    }
}

fn judge(pairs: &[Pair; 3], count: usize) -> Vec<Target> {
    let [list, patch, apply] = pairs;
    let mut targets = Vec::new();
    for (command, pair) in [("msb diff", list), ("msb diff --patch", patch)] {
        let words = format!("{command} of {count} changes");
        let walls = pair.ours.iter().map(|cost| cost.wall_s);
        targets.extend(at_most_s(&words, walls.collect(), REVIEW_MAX_S));
        let peaks = pair.ours.iter().map(|cost| cost.peak_memory_bytes);
        let mib = peaks.max().unwrap_or_default() as f64 / 1_048_576.0;
        let words = format!("{words}: {mib:.0} MiB of memory (at most {MEMORY_MAX_MIB})");
        targets.push(Target::new(mib <= MEMORY_MAX_MIB, words));
    }
    let row = apply.row(|cost| cost.wall_s);
    let speed = row.cell(0).zip(row.cell(1)).and_then(|(theirs, ours)| {
        let speed = theirs.ratio_to(ours)?.median;
        let words = format!("msb apply: {speed:.2} of the speed of cp -a (at least {SPEED_MIN})");
        Some(Target::new(speed >= SPEED_MIN, words))
    });
    targets.extend(speed);
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_of_three_kinds_and_never_more_than_half_of_the_files() {
        let counts = |files| {
            let changes = Changes::of(Shape { files, mib: 1 });
            let Changes {
                changed,
                added,
                removed,
            } = changes;
            [changed.len(), added.len(), removed.len()]
        };
        assert_eq!(counts(2_400), [800, 100, 100]);
        assert_eq!(counts(20), [8, 1, 1]);
    }

    #[test]
    fn an_apply_slower_than_cp_is_told() {
        let cost = |wall_s| Cost {
            wall_s,
            cpu_s: 0.0,
            peak_memory_bytes: 1 << 20,
            written_bytes: 0,
        };
        let pair = |name, ours| Pair {
            name,
            theirs: vec![cost(1.0)],
            ours: vec![cost(ours)],
        };
        let pairs = [pair("list", 0.5), pair("patch", 1.5), pair("apply", 2.0)];
        let judged = judge(&pairs, 10);
        let met: Vec<bool> = judged.iter().map(|target| target.met).collect();
        assert_eq!(met, [true, true, false, true, false]);
        let words = &judged[4].words;
        assert_eq!(
            words,
            "msb apply: 0.50 of the speed of cp -a (at least 0.8)"
        );
    }
}
