//! The cases under msb.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use test_fixtures::command::quiet;
use test_support::{TestEnv, describe};

use super::cases::{CASES, Case, Start};
use super::image::{COMMAND, HOLDER, IMAGE};
use super::{Observed, output};

const NAME: &str = "holder";
const DETACHED: &str = "detached";

/// Returns the values of each case.
pub(super) fn observe(env: &TestEnv, archive: &Path) -> Result<Observed> {
    env.home_msb().load(archive, IMAGE)?;
    let holder = || {
        let mut line = run(env, &["-d", "--name", NAME]);
        line.arg(IMAGE).args(HOLDER);
        line
    };
    let started = env.retried(holder, &[])?;
    ensure!(started.status.success(), "{}", describe(&started));
    let observed = CASES.iter().map(|case| {
        let output = output(env, case).context(case.name)?;
        let values = output::values(&output).context(case.name)?;
        Ok((case.name, values))
    });
    let observed = observed.collect();
    quiet(env.msb().args(["rm", "-f", NAME]))?;
    observed
}

fn output(env: &TestEnv, case: &Case) -> Result<Vec<u8>> {
    let line = || {
        let mut line = match case.start {
            Start::Run => run(env, &["--rm"]),
            Start::Detached => run(env, &["-d", "--name", DETACHED]),
            Start::Exec => {
                let mut exec = env.msb();
                exec.arg("exec");
                exec
            }
        };
        let place = if case.start == Start::Exec {
            NAME
        } else {
            IMAGE
        };
        line.args(case.options).arg(place).args(COMMAND);
        if case.is_at_terminal() {
            line = output::at_terminal(&line);
        }
        line.stdin(Stdio::null());
        line
    };
    let mut output = env.repeated(|| Ok(line().output()?))?;
    ensure!(output.status.success(), "{}", describe(&output));
    if case.start == Start::Detached {
        quiet(env.msb().args(["wait", DETACHED]))?;
        output = quiet(env.msb().args(["logs", DETACHED]))?;
        quiet(env.msb().args(["rm", DETACHED]))?;
    }
    Ok([output.stdout, output.stderr].concat())
}

/// Returns `msb run` with options, before the image.
fn run(env: &TestEnv, options: &[&str]) -> Command {
    let mut line = env.machine_command("run");
    line.args([
        "--quiet", "--cpus", "1", "--memory", "256M", "--pull", "never",
    ]);
    line.args(options);
    line
}
