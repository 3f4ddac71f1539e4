use anyhow::{Result, ensure};

use super::done;
use crate::checks::Bed;

/// Guest memory of one of many, in MiB.
const MEMORY: &str = "160M";

/// Starts `count` sandboxes, has all of them at once, and runs a command in each.
pub(crate) fn run(bed: &Bed, count: u32) -> Result<String> {
    let names: Vec<String> = (0..count).map(|number| format!("crowd-{number}")).collect();
    for name in &names {
        let line = || {
            let mut line = bed.machine_command("run");
            line.args([
                "-q", "-d", "--cpus", "1", "--memory", MEMORY, "--pull", "never",
            ]);
            line.args(["--no-command", "--name", name, &bed.image]);
            line
        };
        let started = bed.retried(line, &[])?;
        ensure!(
            started.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&started.stderr)
        );
    }
    let listed = done(bed, &["-q", "ps", "--filter", "name=crowd-"])?;
    let running = listed.stdout.split(|&byte| byte == b'\n').count() - 1;
    ensure!(running == names.len(), "{running} of {count} run");
    for name in &names {
        let said = done(bed, &["exec", name, "hostname"])?;
        ensure!(
            said.stdout == format!("{name}\n").as_bytes(),
            "{name} calls itself {}",
            String::from_utf8_lossy(&said.stdout)
        );
    }
    let mut arguments = vec!["rm", "-f"];
    arguments.extend(names.iter().map(String::as_str));
    done(bed, &arguments)?;
    Ok(format!("{count} sandboxes at once, a command in each"))
}
