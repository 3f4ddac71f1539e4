//! `msb exec` on one sandbox: the throughput of its output against the VMM's console, many
//! concurrent commands, a reader that stalls, and the same command by `msb mcp`.

mod crowd;
mod mcp;
mod memory;
mod running;
mod stalled;
mod throughput;

use anyhow::Result;

use running::Running;

use crate::msb::{Msb, vmm_words};
use crate::report::{Cache, Conditions, Durability, Machine, Report, Showing};

/// Arguments of `msb bench exec`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb bench exec debian\n  \
    msb bench exec --runs 2 --crowd 50 debian")]
pub(crate) struct Arguments {
    /// An image with a shell and coreutils
    image: String,
    /// The VMM: krun, qemu, or auto for one that this host can run
    #[arg(long, default_value = "auto", env = "MSB_VMM")]
    vmm: String,
    /// Size of the output of a run through exec and through the console, in MiB
    #[arg(long, default_value_t = 32)]
    output_mib: u32,
    /// Number of counted runs of each
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Number of concurrent commands
    #[arg(long, default_value_t = 200)]
    crowd: usize,
    /// Time that the reader stalls, in seconds
    #[arg(long, default_value_t = 20)]
    stall_s: u64,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let sandbox = Running::start(msb, &arguments.image, &arguments.vmm)?;
    let parts = [
        throughput::measure(&sandbox, arguments.output_mib, arguments.runs)?,
        crowd::measure(&sandbox, arguments.crowd)?,
        stalled::measure(&sandbox, arguments.stall_s)?,
        mcp::measure(&sandbox, msb, arguments.runs)?,
    ];
    let (mut tables, mut targets) = (Vec::new(), Vec::new());
    for (table, judged) in parts {
        tables.push(table);
        targets.extend(judged);
    }
    let machine = Machine::this(Some(vmm_words(&arguments.vmm).to_owned()));
    Ok(Report::new("exec", machine, tables, targets))
}

/// Returns the conditions of all of these measurements.
fn conditions(note: String) -> Conditions {
    Conditions {
        cache: Cache::Any,
        durability: Durability::None,
        place: "one sandbox, 1 CPU, 512 MiB".to_owned(),
        notes: vec![note],
    }
}
