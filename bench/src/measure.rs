//! The cost of a process and everything that it starts. A separate process measures it, with the
//! measured process as its only child.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde::{Deserialize, Serialize};

use crate::msb::{text, this_program};

/// Arguments of `msb bench measure`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write back the filesystem of this directory before the clock stops
    #[arg(long)]
    sync: Option<PathBuf>,
    /// The command to measure
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// The cost of a command.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) wall_s: f64,
    /// Processor time in user space and in the kernel.
    pub(crate) cpu_s: f64,
    /// The peak memory of the process with the highest.
    pub(crate) peak_memory_bytes: u64,
    /// Bytes sent to disks, as the kernel counts them.
    pub(crate) written_bytes: u64,
}

/// Runs the command and prints its cost, as JSON.
#[expect(
    clippy::print_stdout,
    reason = "another process of this program reads it"
)]
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (program, words) = arguments.command.split_first().context("no command")?;
    let begun = Instant::now();
    let status = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot run {}", program.display()))?;
    ensure_good(program, status)?;
    if let Some(directory) = &arguments.sync {
        rustix::fs::syncfs(std::fs::File::open(directory)?)?;
    }
    let wall_s = begun.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cost = Cost {
        wall_s,
        cpu_s: (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6,
        peak_memory_bytes: u64::try_from(usage.max_rss())? << 10,
        written_bytes: written_bytes()?,
    };
    println!("{}", serde_json::to_string(&cost)?);
    Ok(())
}

fn ensure_good(program: &OsString, status: ExitStatus) -> Result<()> {
    ensure!(status.success(), "{} gave {status}", program.display());
    Ok(())
}

/// Returns the bytes written by this process and its awaited children (proc(5), `/proc/pid/io`).
fn written_bytes() -> Result<u64> {
    let account = std::fs::read_to_string("/proc/self/io")?;
    let line = account
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes: "));
    Ok(line
        .context("the kernel does not say how much was written (/proc/self/io)")?
        .parse()?)
}

/// Returns the cost of a command that works with files in `directory`. The files that it leaves
/// there are on the disk when the clock stops.
pub(crate) fn cost(command: &Command, directory: &Path) -> Result<Cost> {
    let mut measured = Command::new(this_program()?);
    measured.args(["measure", "--sync"]).arg(directory);
    measured.arg("--").arg(command.get_program());
    measured.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => measured.env(name, value),
            None => measured.env_remove(name),
        };
    }
    Ok(serde_json::from_str(&text(&mut measured)?)?)
}
