//! `msb exec` on one sandbox: how fast its output comes, against the same bytes through the VMM's
//! console; many commands in flight; a reader that stalls. With each, what the host's memory does.

mod crowd;
mod memory;
mod sandbox;
mod stalled;
mod throughput;

use std::path::PathBuf;

use anyhow::{Result, ensure};

use sandbox::Sandbox;

/// Arguments of `bench exec`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The msb to measure; `MSB_HOME` and `MSB_KERNEL` are its own
    #[arg(long)]
    msb: PathBuf,
    /// An image in its store, with a shell and coreutils
    #[arg(long)]
    image: String,
    /// qemu or krun
    #[arg(long)]
    vmm: String,
    /// How much goes through exec and the console in a run, in MiB
    #[arg(long, default_value_t = 32)]
    output_mib: u32,
    /// Counted runs of each
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Commands in flight
    #[arg(long, default_value_t = 200)]
    crowd: usize,
    /// How long the reader stalls, in seconds
    #[arg(long, default_value_t = 20)]
    stall_s: u64,
}

/// Measures, prints, and fails where a target is missed.
#[expect(clippy::print_stdout, reason = "the figures are this program's output")]
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let sandbox = Sandbox::start(&arguments.msb, &arguments.image, &arguments.vmm)?;
    println!(
        "{} under {}; one sandbox, 1 CPU, 512 MiB; {} runs after one warm-up",
        arguments.image, arguments.vmm, arguments.runs
    );
    let met = [
        throughput::measure(&sandbox, arguments.output_mib, arguments.runs)?,
        crowd::measure(&sandbox, arguments.crowd)?,
        stalled::measure(&sandbox, arguments.stall_s)?,
    ];
    ensure!(met.into_iter().all(|met| met), "a target is missed");
    Ok(())
}

/// A target's line; gives whether it is met.
#[expect(clippy::print_stdout, reason = "the figures are this program's output")]
fn target(met: bool, text: &str) -> bool {
    println!("{} {text}", if met { "met    " } else { "MISSED " });
    met
}
