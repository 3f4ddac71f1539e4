//! Snapshots, rollbacks and forks of a stopped sandbox, beside a copy of its disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::sandbox::{FIRST, FORK, NAME, change, make_sandbox, tidy};
use super::{Arguments, Series, conditions};
use crate::allocation::allocated_bytes;
use crate::measure::{self, Cost};
use crate::msb::Msb;
use crate::report::{Cell, Plot, Row, Table, Target, Unit};
use crate::sandbox::disk_file;

/// The most bytes that a fork takes before it is written to.
const FORK_BYTES_MAX: f64 = (1 << 20) as f64;

/// A stopped sandbox with a snapshot, and the raw disk that it had before.
pub(super) struct Stopped<'a> {
    pub(super) msb: &'a Msb,
    pub(super) home: &'a Path,
    pub(super) work: &'a Path,
    /// The directory of the sandbox.
    pub(super) directory: PathBuf,
    pub(super) raw: PathBuf,
}

impl<'a> Stopped<'a> {
    pub(super) fn make(msb: &'a Msb, home: &'a Path, work: &'a Path, mib: u32) -> Result<Self> {
        let directory = make_sandbox(msb, home, work, mib)?;
        let raw = work.join("raw.ext4");
        let copied = copy(&disk_file(&directory)?, &raw).status()?;
        ensure!(copied.success(), "cp ended with {copied}");
        msb.output(["snapshot", "create", FIRST])?;
        Ok(Self {
            msb,
            home,
            work,
            directory,
            raw,
        })
    }

    /// Measures each operation in turn.
    pub(super) fn measure(&self, arguments: &Arguments) -> Result<(Vec<Table>, Target)> {
        let count = arguments.forks.to_string();
        let operations = [
            ("copy of the disk (cp)", Vec::new()),
            ("snapshot create", vec!["snapshot", "create", NAME]),
            ("rollback", vec!["rollback", FIRST]),
            ("fork", vec!["fork", FIRST, FORK]),
            ("forks", vec!["fork", "-n", &count, FIRST, FORK]),
        ];
        let mut series = Series::named(operations.iter().map(|(name, _)| match *name {
            "forks" => format!("{count} forks, one command"),
            name => name.to_owned(),
        }));
        let mut fork_bytes = Vec::new();
        let mut snapshot_bytes = Vec::new();
        let copied = self.work.join("copy.ext4");
        for round in 0..=arguments.rounds {
            for ((name, words), series) in operations.iter().zip(&mut series) {
                let cost = if words.is_empty() {
                    measure::cost(&copy(&self.raw, &copied), self.work)?
                } else {
                    change(&self.directory.join("generations"))?;
                    let before = allocated_bytes(self.home)?;
                    let cost = measure::cost(self.msb.command().args(words), self.work)?;
                    let bytes = allocated_bytes(self.home)?.saturating_sub(before) as f64;
                    match *name {
                        "forks" if round > 0 => fork_bytes.push(bytes / f64::from(arguments.forks)),
                        "snapshot create" if round > 0 => snapshot_bytes.push(bytes),
                        _ => {}
                    }
                    cost
                };
                // The first round warms the caches.
                if round > 0 {
                    series.costs.push(cost);
                }
                if copied.exists() {
                    fs::remove_file(&copied)?;
                }
                tidy(self.msb)?;
            }
        }
        Ok(tables(arguments, &series, fork_bytes, snapshot_bytes))
    }
}

fn copy(from: &Path, to: &Path) -> Command {
    let mut command = Command::new("cp");
    command.args(["--sparse=always", "--reflink=never"]);
    command.arg(from).arg(to);
    command
}

fn tables(
    arguments: &Arguments,
    series: &[Series],
    fork_bytes: Vec<f64>,
    snapshot_bytes: Vec<f64>,
) -> (Vec<Table>, Target) {
    let rows = |figure: fn(&Cost) -> f64| -> Vec<Row> {
        series.iter().map(|series| series.row(figure)).collect()
    };
    let table = |title: &str, unit, rows| Table {
        title: title.to_owned(),
        conditions: conditions(
            arguments,
            &[
                "a stopped sandbox; one block is changed before each operation, as by a guest",
                "whole commands, the start of the program included; the clock stops when all is on the disk",
            ],
        ),
        unit,
        columns: vec!["each".to_owned()],
        baseline: None,
        rows,
        plot: Plot::None,
    };
    let most = fork_bytes.iter().copied().fold(0.0, f64::max);
    let words = format!(
        "msb fork: {:.0} KiB for each fork before it is written to (at most {:.0} KiB)",
        most / 1024.0,
        FORK_BYTES_MAX / 1024.0
    );
    let target = Target::new(most <= FORK_BYTES_MAX, words);
    let mut bytes = rows(|cost| cost.written_bytes as f64);
    for (name, cell) in [
        ("space of each fork", fork_bytes),
        (
            "space of a snapshot, its changed block included",
            snapshot_bytes,
        ),
    ] {
        bytes.push(Row::new(name, vec![Some(Cell::from_rounds(cell))]));
    }
    let times = rows(|cost| cost.wall_s);
    let tables = vec![
        table("Snapshots and forks: time", Unit::Seconds, times),
        table(
            "Snapshots and forks: bytes sent to the disk",
            Unit::Bytes,
            bytes,
        ),
    ];
    (tables, target)
}
