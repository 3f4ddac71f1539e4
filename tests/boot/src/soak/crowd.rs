use anyhow::{Result, ensure};

use super::done;
use test_support::TestEnv;

/// Guest memory of each sandbox, as `--memory` takes it.
const MEMORY: &str = "160M";

/// Starts `count` sandboxes, runs all of them at once, and runs a command in each.
pub(crate) fn run(env: &TestEnv, count: u32) -> Result<String> {
    let names: Vec<String> = (0..count).map(|number| format!("crowd-{number}")).collect();
    for name in &names {
        let line = || {
            let mut line = env.machine_command("run");
            line.args([
                "-q", "-d", "--cpus", "1", "--memory", MEMORY, "--pull", "never",
            ]);
            line.args(["--no-command", "--name", name, env.image()]);
            line
        };
        let started = env.retried(line, &[])?;
        ensure!(
            started.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&started.stderr)
        );
    }
    let listed = done(env, &["-q", "ps", "--filter", "name=crowd-"])?;
    let running = listed.stdout.split(|&byte| byte == b'\n').count() - 1;
    ensure!(running == names.len(), "{running} of {count} run");
    for name in &names {
        let said = done(env, &["exec", name, "hostname"])?;
        ensure!(
            said.stdout == format!("{name}\n").as_bytes(),
            "{name} calls itself {}",
            String::from_utf8_lossy(&said.stdout)
        );
    }
    let mut arguments = vec!["rm", "-f"];
    arguments.extend(names.iter().map(String::as_str));
    done(env, &arguments)?;
    Ok(format!("{count} sandboxes at once, a command in each"))
}
