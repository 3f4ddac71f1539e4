//! A process that owns a sandbox, which tests start and kill.

use std::io::{BufRead as _, stdin};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use msb_runtime::{Home, OwnOptions, Owner, Sandbox};
use test_support::{Speaking, spawn};

/// The argument with which this program becomes such a process. The home and the sandbox's name
/// follow.
pub(crate) const OPTION: &str = "--own";
const OWNS: &str = "owns";
const RELEASED: &str = "released";

/// Starts an owner of a running sandbox, and waits until it is one.
pub(crate) fn start(home: &Path, name: &str) -> Result<Speaking> {
    let program = std::env::current_exe()?;
    let mut line = Command::new(program);
    line.arg(OPTION).arg(home).arg(name);
    Speaking::heard(spawn(&mut line)?, OWNS)
}

/// Lets an owner give the sandbox up. The process goes on.
pub(crate) fn release(owner: &mut Speaking) -> Result<()> {
    drop(owner.child.stdin.take());
    let mut line = String::new();
    owner.stdout.read_line(&mut line)?;
    ensure!(line.trim_end() == RELEASED, "the owner printed {line:?}");
    Ok(())
}

/// Owns the sandbox until standard input ends, then gives it up and waits to be killed.
pub(crate) fn run(words: &[String]) -> Result<()> {
    let [home, name] = words else {
        anyhow::bail!("{OPTION} needs a home and a name");
    };
    let home = Home::new(home.as_str());
    let sandbox = Sandbox::find(&home, name)?.context("no such sandbox")?;
    // Calls run on another thread while this one reads.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let options = OwnOptions {
        grace: Duration::from_millis(500),
        remove: true,
    };
    let owner = runtime.block_on(sandbox.own(options))?;
    println!("{OWNS}");
    stdin().lock().lines().for_each(drop);
    runtime.block_on(Owner::release(owner))?;
    println!("{RELEASED}");
    loop {
        std::thread::park();
    }
}
