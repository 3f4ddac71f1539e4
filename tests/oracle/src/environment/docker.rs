//! The cases under docker.

use anyhow::{Context as _, Result};
use test_fixtures::DockerDaemon;
use test_fixtures::command::quiet;

use super::cases::{CASES, Case, Start};
use super::image::{COMMAND, HOLDER, IMAGE};
use super::{Observed, output};

const NAME: &str = "holder";
const DETACHED: &str = "detached";

/// Returns the values of each case.
pub(super) fn observe(daemon: &DockerDaemon) -> Result<Observed> {
    let holder = ["run", "-d", "--name", NAME, IMAGE];
    quiet(daemon.command(&holder).args(HOLDER))?;
    let observed = CASES.iter().map(|case| {
        let output = output(daemon, case).context(case.name)?;
        let values = output::values(&output).context(case.name)?;
        Ok((case.name, values))
    });
    let observed = observed.collect();
    quiet(&mut daemon.command(&["rm", "-f", NAME]))?;
    observed
}

fn output(daemon: &DockerDaemon, case: &Case) -> Result<Vec<u8>> {
    let (first, place): (&[&str], _) = match case.start {
        Start::Run => (&["run", "--rm"], IMAGE),
        Start::Detached => (&["run", "-d", "--name", DETACHED], IMAGE),
        Start::Exec => (&["exec"], NAME),
    };
    let mut line = daemon.command(first);
    line.args(case.options).arg(place).args(COMMAND);
    if case.is_at_terminal() {
        line = output::at_terminal(&line);
    }
    let mut output = quiet(&mut line)?;
    if case.start == Start::Detached {
        quiet(&mut daemon.command(&["wait", DETACHED]))?;
        output = quiet(&mut daemon.command(&["logs", DETACHED]))?;
        quiet(&mut daemon.command(&["rm", DETACHED]))?;
    }
    Ok([output.stdout, output.stderr].concat())
}
