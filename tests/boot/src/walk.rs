use std::process::Command;

use anyhow::Result;
use test_fixtures::command::quiet;
use test_support::TestEnv;
use test_support::harness::Trial;

use crate::trial::boot;

/// The script, which is also documentation for people.
const SCRIPT: &str = include_str!("../walk.sh");

/// Returns the walk through a sandbox's whole life, as a user types the commands.
pub(crate) fn tests() -> Vec<Trial> {
    vec![boot("walk", "a sandbox's whole life", walk)]
}

fn walk(env: &TestEnv) -> Result<()> {
    let script = env.work.join("walk.sh");
    std::fs::write(&script, SCRIPT)?;
    let msb = env.home_msb();
    quiet(
        Command::new("sh")
            .arg(script)
            .arg(&msb.program)
            .arg(std::env::current_exe()?)
            .args([env.image(), env.vmm()])
            .env("MSB_HOME", &msb.home)
            .env("MSB_KERNEL", &msb.kernel),
    )?;
    Ok(())
}
