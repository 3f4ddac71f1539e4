use std::process::Command;

use anyhow::{Result, ensure};
use test_fixtures::{LocalRegistry, images};
use test_support::harness::Trial;
use test_support::{TestEnv, describe, succeed};

use crate::trial::boot;

/// Returns the test of an image that is pulled from the Distribution project's registry.
pub(crate) fn tests() -> Vec<Trial> {
    let title = "an image pulled from a real registry computes";
    vec![boot("pulled", title, pulled)]
}

fn pulled(env: &TestEnv) -> Result<()> {
    let registry = LocalRegistry::start()?;
    let name = registry.push(&images::demo()?, "debian-python")?;
    let msb = env.msb_at("pulled")?;
    succeed(&mut msb.command(&["pull", "-q", "--plain-http", &name]))?;
    let line = || {
        let mut run = env.machine_command("run");
        run.args(["-q", "--rm", "--pull", "never", &name]);
        run.args(["python3", "-c", "print(6 * 7)"]);
        run.env("MSB_HOME", &msb.home);
        run
    };
    let output = env.retried(line, &[])?;
    ensure!(output.stdout == b"42\n", "python3: {}", describe(&output));
    let mut disks = 0;
    for disk in std::fs::read_dir(msb.home.join("boot"))? {
        let path = disk?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "erofs")
        {
            succeed(Command::new("fsck.erofs").arg("--extract").arg(path))?;
            disks += 1;
        }
    }
    ensure!(disks > 0, "no boot disk was made");
    Ok(())
}
