//! Other projects' filesystem suites, and container engines, run in a guest.
//!
//! The suites run on the guest's root, which is msb's overlay, and for comparison on a volume, which is
//! plain ext4. Suites that a package registry has are installed from there; of the others a
//! variable names the checkout. Only the lists of expected failures are part of this repository.

mod engines;
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

use anyhow::{Context as _, Result, ensure};
use test_support::harness::Trial;
use test_support::{TestEnv, harness, settings};

use guest::Guest;

/// The path of an fsstress, of LTP or of xfstests, that runs in the guest.
const FSSTRESS: &str = "MSB_TEST_FSSTRESS";
/// The path of a checkout of unionmount-testsuite.
const UNIONMOUNT: &str = "MSB_TEST_UNIONMOUNT";
/// Number of times that SQLite's machine is killed, for each journal.
const KILLS: u32 = 20;

/// The result of a suite.
struct Outcome {
    /// The figures to print.
    figures: String,
    /// The differences from the expected results; empty if there are none.
    differences: Vec<String>,
}

impl Outcome {
    /// Returns the outcome of a suite with the expected results.
    fn good(figures: String) -> Self {
        Self {
            figures,
            differences: Vec::new(),
        }
    }
}

/// A suite's name, the variable that names its files on the host, its environment and its function.
type Suite = (
    &'static str,
    Option<&'static str>,
    Environment,
    fn(&TestEnv) -> Result<Outcome>,
);

type Environment = fn(&str) -> Result<TestEnv>;

/// The environments: an image with git and Python, and one with container engines.
const BENCH: Environment = TestEnv::with_bench_guests;
const ENGINES: Environment = TestEnv::with_engine_guests;

const SUITES: &[Suite] = &[
    ("pjdfstest", None, BENCH, in_guest::<pjdfstest::Pjdfstest>),
    ("fsx", None, BENCH, in_guest::<fsx::Fsx>),
    ("git", None, BENCH, in_guest::<git::Git>),
    (
        "fsstress",
        Some(FSSTRESS),
        BENCH,
        in_guest::<fsstress::Fsstress>,
    ),
    (
        "unionmount",
        Some(UNIONMOUNT),
        BENCH,
        in_guest::<unionmount::Unionmount>,
    ),
    ("sqlite", None, BENCH, sqlite::run),
    ("engines", None, ENGINES, in_guest::<engines::Engines>),
];

/// A suite that needs a running guest.
trait InGuest {
    /// Puts the guest's files into `directory`, which it sees as `/suites`. Fails if the suite is
    /// not available.
    fn prepare(directory: &std::path::Path) -> Result<()>;
    /// Runs the suite in the guest and returns its outcome.
    fn run(guest: &Guest<'_>) -> Result<Outcome>;
}

fn in_guest<T: InGuest>(env: &TestEnv) -> Result<Outcome> {
    let guest = Guest::start(env, T::prepare)?;
    let outcome = T::run(&guest);
    guest.remove()?;
    outcome
}

/// Returns the path in a variable.
fn named(variable: &str) -> Result<PathBuf> {
    settings::path(variable).with_context(|| format!("{variable} is not set"))
}

/// Returns a test for each suite. The tests take long, and run only on request.
pub(crate) fn tests() -> Vec<Trial> {
    let test = |&(name, variable, environment, suite): &Suite| {
        let full_name = format!("suites::boot_{name}");
        match variable {
            Some(variable) if settings::path(variable).is_none() => {
                harness::left_out(full_name, format!("{variable} is not set"))
            }
            _ => harness::long_test(full_name, move || run(name, environment, suite)),
        }
    };
    SUITES.iter().map(test).collect()
}

fn run(
    name: &str,
    environment: Environment,
    suite: fn(&TestEnv) -> Result<Outcome>,
) -> Result<String> {
    let env = environment(&format!("suite-{name}"))?;
    let outcome = suite(&env)?;
    let Outcome {
        figures,
        differences,
    } = outcome;
    ensure!(
        differences.is_empty(),
        "{figures}\n{}",
        differences.join("\n")
    );
    env.expect_nothing_left()?;
    env.remove_work()?;
    Ok(figures)
}
