//! The cost of snapshots, rollbacks and forks of a stopped and of a running sandbox, and of disks with
//! many of them, beside a copy of the disk and chains of qcow2 files.

mod chain;
mod depth;
mod running;
mod sandbox;
mod stopped;

use std::path::PathBuf;

use anyhow::Result;

use crate::measure::Cost;
use crate::msb::{Msb, vmm_words};
use crate::report::{Cache, Cell, Conditions, Durability, Machine, Report, Row, Showing};
use stopped::Stopped;

/// Arguments of `msb bench snapshots`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The peer whose snapshots are most alike, microsandbox, is not among the columns: its snapshots \
    need its own fork of libkrun, and KVM.\n\n\
    Examples:\n  \
    msb bench snapshots\n  \
    msb bench snapshots --stopped\n  \
    msb bench snapshots --mib 16 --forks 10 --depth 20 --rounds 3"
)]
pub(crate) struct Arguments {
    /// Number of counted rounds
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Length of the files on the writable disk, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    mib: u32,
    /// Number of forks that one command makes
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=1000))]
    forks: u32,
    /// Number of snapshots of the disk that is compared with one that has a single one
    #[arg(long, value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=400))]
    depth: u32,
    /// Boot no guest: leave out the running sandbox
    #[arg(long)]
    stopped: bool,
    /// The VMM: krun, qemu, or auto for one that this host can run
    #[arg(long, default_value = "auto", env = "MSB_VMM")]
    vmm: String,
    /// The directory in which the image and the sandboxes are made
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    work: PathBuf,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// An operation, and its cost in each round.
struct Series {
    name: String,
    costs: Vec<Cost>,
}

impl Series {
    fn named(names: impl Iterator<Item = String>) -> Vec<Self> {
        let costs = Vec::new;
        names
            .map(|name| Self {
                name,
                costs: costs(),
            })
            .collect()
    }

    fn row(&self, figure: fn(&Cost) -> f64) -> Row {
        let rounds = self.costs.iter().map(figure).collect();
        Row::new(&self.name, vec![Some(Cell::from_rounds(rounds))])
    }
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let work = tempfile::tempdir_in(&arguments.work)?;
    let home = work.path().join("home");
    let msb = msb.in_home(&home);
    let stopped = Stopped::make(&msb, &home, work.path(), arguments.mib)?;
    let (mut tables, target) = stopped.measure(arguments)?;
    let mut targets = vec![target];
    let mut vmm = None;
    if !arguments.stopped {
        tables.extend(running::measure(arguments, &msb)?);
        vmm = Some(vmm_words(&arguments.vmm).to_owned());
    }
    let (deep, judged) = depth::measure(arguments, work.path())?;
    tables.extend(deep);
    targets.extend(judged);
    Ok(Report::new(
        "snapshots",
        Machine::this(vmm),
        tables,
        targets,
    ))
}

/// Returns the conditions of a table.
fn conditions(arguments: &Arguments, notes: &[&str]) -> Conditions {
    let mut all = vec![
        format!("{} rounds after one warm-up, in turn", arguments.rounds),
        format!("a writable disk with {} MiB", arguments.mib),
    ];
    all.extend(notes.iter().map(|&note| note.to_owned()));
    Conditions {
        cache: Cache::Warm,
        durability: Durability::Synced,
        place: format!("written to {}", arguments.work.display()),
        notes: all,
    }
}
