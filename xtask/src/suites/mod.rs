//! Other projects' filesystem suites, run in a guest: on its root, which is msb's overlay, and beside that
//! on a volume, which is plain ext4.
//!
//! Suites that a package registry has are installed from there; the others are taken where their checkouts
//! are named. Nothing of them is part of this repository but the lists of what is expected to fail.

mod expected;
mod fsstress;
mod fsx;
mod git;
mod guest;
mod pjdfstest;
mod programs;
mod sqlite;
mod unionmount;

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::CheckArguments;
use crate::checks::Bed;
use crate::run::step;
use guest::Guest;

/// Arguments of `cargo xtask suites`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The image needs git and python3: cargo xtask bench-image builds one
    #[command(flatten)]
    pub(crate) check: CheckArguments,
    /// Only these suites, as pjdfstest,git
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
    /// An fsstress (of LTP or of xfstests) that runs in the guest
    #[arg(long, value_name = "PROGRAM")]
    fsstress: Option<PathBuf>,
    /// A checkout of unionmount-testsuite
    #[arg(long, value_name = "DIR")]
    unionmount: Option<PathBuf>,
    /// How often SQLite's machine is killed, for each journal
    #[arg(long, default_value_t = 20)]
    kills: u32,
}

/// What one suite found.
struct Outcome {
    /// Figures, for people.
    figures: String,
    /// What differs from what is expected; empty where nothing does.
    differences: Vec<String>,
}

impl Outcome {
    /// A suite that found what is expected.
    fn good(figures: String) -> Self {
        Self {
            figures,
            differences: Vec::new(),
        }
    }
}

/// A suite by its name.
type Suite = (&'static str, fn(&Bed, &Arguments) -> Result<Outcome>);

const SUITES: &[Suite] = &[
    ("pjdfstest", in_guest::<pjdfstest::Pjdfstest>),
    ("fsx", in_guest::<fsx::Fsx>),
    ("git", in_guest::<git::Git>),
    ("fsstress", in_guest::<fsstress::Fsstress>),
    ("unionmount", in_guest::<unionmount::Unionmount>),
    ("sqlite", sqlite::run),
];

/// A suite that needs one running guest.
trait InGuest {
    /// Puts what the guest needs into `directory`, which it sees as `/suites`. An error where the
    /// suite is not to be had.
    fn prepare(arguments: &Arguments, directory: &std::path::Path) -> Result<()>;
    /// Runs the suite.
    fn run(guest: &Guest<'_>) -> Result<Outcome>;
}

fn in_guest<T: InGuest>(bed: &Bed, arguments: &Arguments) -> Result<Outcome> {
    let guest = Guest::start(bed, |directory| T::prepare(arguments, directory))?;
    let outcome = T::run(&guest);
    guest.remove()?;
    outcome
}

/// Which suites can be had: those of checkouts only where these are named.
fn chosen(arguments: &Arguments) -> Result<Vec<Suite>> {
    for name in &arguments.only {
        ensure!(
            SUITES.iter().any(|(suite, _)| suite == name),
            "there is no suite {name:?}"
        );
    }
    let is_wanted = |name: &str| match arguments.only.is_empty() {
        true => match name {
            "fsstress" => arguments.fsstress.is_some(),
            "unionmount" => arguments.unionmount.is_some(),
            _ => true,
        },
        false => arguments.only.iter().any(|only| only == name),
    };
    let suites = SUITES.iter().filter(|(name, _)| is_wanted(name));
    Ok(suites.copied().collect())
}

/// Runs the suites and prints a line for each; fails where one found something else than is expected.
pub(crate) fn run(bed: &Bed, arguments: &Arguments) -> Result<()> {
    let suites = chosen(arguments)?;
    let mut failed = 0;
    for (name, suite) in &suites {
        step(&format!("suite {name}"));
        match suite(bed, arguments) {
            Ok(outcome) if outcome.differences.is_empty() => {
                println!("ok      {name}: {}", outcome.figures);
            }
            Ok(outcome) => {
                failed += 1;
                println!("FAILED  {name}: {}", outcome.figures);
                for difference in outcome.differences {
                    println!("        {difference}");
                }
            }
            Err(error) => {
                failed += 1;
                println!("FAILED  {name}: {error:?}");
            }
        }
    }
    for (name, _) in SUITES {
        if !suites.iter().any(|(ran, _)| ran == name) {
            println!("left out {name}");
        }
    }
    println!("suites: {} passed, {failed} failed", suites.len() - failed);
    ensure!(failed == 0, "{failed} suites failed");
    Ok(())
}
