//! A command's environment under msb, compared with the one that docker gives the same command.
//!
//! `process-dump` of `testkit` prints everything that a process can see at its start. It runs in the
//! same image under Debian's docker and under msb, in each of the [`cases`]. A difference that is not
//! in [`differences`] is a fault, and so is one of that list that does not exist.

mod cases;
mod differences;
mod docker;
mod guests;
mod image;
mod judgement;
mod output;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use test_fixtures::DockerDaemon;
use test_support::TestEnv;
use test_support::harness::{self, Trial};

/// The values of one process, by their paths.
pub(crate) type Values = BTreeMap<String, String>;
/// The values of the process of each case, by the cases' names.
pub(crate) type Observed = BTreeMap<&'static str, Values>;

/// Returns the test of a command's environment.
pub(crate) fn tests() -> Vec<Trial> {
    let name = "environment::a_command_sees_what_it_sees_under_docker";
    vec![harness::test(name, compare)]
}

fn compare() -> Result<String> {
    let env = TestEnv::with_empty_home("environment")?;
    let daemon = DockerDaemon::start("environment")?;
    let archive = image::build(&daemon, &env.work)?;
    let docker = docker::observe(&daemon).context("under docker")?;
    drop(daemon);
    let msb = guests::observe(&env, &archive).context("under msb")?;
    env.expect_nothing_left()?;
    let faults = judgement::faults(&docker, &msb);
    ensure!(
        faults.is_empty(),
        "{} differences from docker that are not as differences.rs lists them:\n{}",
        faults.len(),
        faults.join("\n")
    );
    env.remove_work()?;
    let values: usize = msb.values().map(BTreeMap::len).sum();
    let listed = differences::LIST.len();
    Ok(format!(
        "{} commands, {values} values, {listed} differences that are meant",
        msb.len()
    ))
}
