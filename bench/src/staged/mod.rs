//! The costs of a staged directory: creating a sandbox with it, working on it in a guest beside a shared
//! directory and copies, reviewing and applying the changes, and commands that can be undone.

mod changes;
mod commands;
mod create;
mod guest;
mod home;
mod tree;
mod upper;

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::msb::{Msb, vmm_words};
use crate::report::{Cache, Conditions, Durability, Machine, Report, Showing, Table, Target};
use tree::Shape;

/// A directory as large as a project's, and one with the dependencies that it has installed.
const PROJECT: Shape = Shape {
    files: 2_400,
    mib: 21,
};
const LARGE: Shape = Shape {
    files: 55_000,
    mib: 745,
};

/// Arguments of `msb bench staged`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --files and --mib, two directories are staged: 2,400 files of 21 MiB, and 55,000 \
    files of 745 MiB. Work in a guest and changes are measured with the first one.\n\n\
    Examples:\n  \
    msb bench staged python:3.12\n  \
    msb bench staged --host-only --small\n  \
    msb bench staged --host-only --files 10000 --mib 200 --rounds 3"
)]
pub(crate) struct Arguments {
    /// An image with git, for the work in a guest
    #[arg(default_value = "docker.io/library/python:3.12")]
    image: String,
    /// The VMM: krun, qemu, or auto for one that this host can run
    #[arg(long, default_value = "auto", env = "MSB_VMM")]
    vmm: String,
    /// Number of counted rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Number of files of the staged directory, instead of the two directories
    #[arg(long, value_name = "FILES", requires = "mib", value_parser = clap::value_parser!(u32).range(20..=1_000_000))]
    files: Option<u32>,
    /// Length of these files together, in MiB
    #[arg(long, value_name = "MIB", requires = "files", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    mib: Option<u32>,
    /// Leave out the larger of the two directories
    #[arg(long, conflicts_with = "files")]
    small: bool,
    /// Boot no guest: measure creation, review and apply alone
    #[arg(long)]
    host_only: bool,
    /// The directory in which the directories, their copies and the sandboxes are made
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    work: PathBuf,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// The tables of one part, with the targets that it judges.
type Measured = (Vec<Table>, Vec<Target>);

impl Arguments {
    /// Returns the directories to stage, the one to work on first.
    fn shapes(&self) -> Vec<Shape> {
        match self.files.zip(self.mib) {
            Some((files, mib)) => vec![Shape { files, mib }],
            None if self.small => vec![PROJECT],
            None => vec![PROJECT, LARGE],
        }
    }

    /// Returns the conditions of a table.
    fn conditions(
        &self,
        (cache, durability): (Cache, Durability),
        shape: Shape,
        notes: &[&str],
    ) -> Conditions {
        let mut all = vec![
            format!("{} rounds after one warm-up, in turn", self.rounds),
            format!("a directory of {}", shape.words()),
        ];
        all.extend(notes.iter().map(|&note| note.to_owned()));
        Conditions {
            cache,
            durability,
            place: format!("written to {}", self.work.display()),
            notes: all,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    ensure!(arguments.rounds > 0, "--rounds must be at least 1");
    let shapes = arguments.shapes();
    let project = shapes[0];
    let mut parts = Vec::new();
    for shape in shapes {
        parts.push(create::measure(arguments, msb, shape)?);
    }
    parts.push(changes::measure(arguments, msb, project)?);
    let mut vmm = None;
    if !arguments.host_only {
        parts.push(guest::measure(arguments, msb, project)?);
        parts.push(commands::measure(arguments, msb, project)?);
        vmm = Some(vmm_words(&arguments.vmm).to_owned());
    }
    let (mut tables, mut targets) = (Vec::new(), Vec::new());
    for (of_part, judged) in parts {
        tables.extend(of_part);
        targets.extend(judged);
    }
    let name = if arguments.host_only {
        "staged --host-only"
    } else {
        "staged"
    };
    Ok(Report::new(name, Machine::this(vmm), tables, targets))
}

/// Judges the median of some figures against a limit, both in seconds.
fn at_most_s(words: &str, figures: Vec<f64>, limit_s: f64) -> Option<Target> {
    let found = crate::report::Cell::from_rounds(figures).spread()?.median;
    let shown = crate::report::Unit::Seconds.shown(found);
    let limit = crate::report::Unit::Seconds.shown(limit_s);
    Some(Target::new(
        found <= limit_s,
        format!("{words}: {shown} (at most {limit})"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_judged() {
        let judged = |limit_s| at_most_s("undo", vec![0.3, 0.1, 0.2], limit_s);
        let met = judged(0.2).expect("a target");
        assert!(met.met);
        assert_eq!(met.words, "undo: 200 ms (at most 200 ms)");
        assert!(!judged(0.19).expect("a target").met);
        assert!(at_most_s("undo", Vec::new(), 1.0).is_none());
    }
}
