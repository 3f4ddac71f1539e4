//! A sandbox's writable disk before anything is written: the time to create it, its size on the
//! host, and its growth under an idle guest.

mod fresh;
mod idle;

use std::path::PathBuf;

use anyhow::Result;

use crate::msb::{Msb, vmm_words};
use crate::report::{Machine, Report, Showing};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The size of a disk, with the limits for it.
struct Size {
    name: &'static str,
    bytes: u64,
    /// The most bytes that a fresh disk may occupy on the host.
    allocated_max_bytes: u64,
    /// The longest allowed time to create the disk. `None` if there is no target.
    made_max_s: Option<f64>,
    /// True if the disk is also measured under an idle guest.
    idle: bool,
}

const SIZES: [Size; 3] = [
    Size {
        name: "4 GiB",
        bytes: 4 * GIB,
        allocated_max_bytes: 256 * KIB,
        made_max_s: Some(0.002),
        idle: true,
    },
    Size {
        name: "64 GiB",
        bytes: 64 * GIB,
        allocated_max_bytes: MIB,
        made_max_s: Some(0.002),
        idle: true,
    },
    Size {
        name: "1 TiB",
        bytes: 1024 * GIB,
        allocated_max_bytes: 14 * MIB,
        made_max_s: None,
        idle: false,
    },
];

/// Arguments of `msb bench disk`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb bench disk\n  \
    msb bench disk --idle-minutes 5 debian")]
pub(crate) struct Arguments {
    /// An image to run idle guests of, which are measured too
    image: Option<String>,
    /// Time that idle guests run, in minutes
    #[arg(long, default_value_t = 10)]
    idle_minutes: u64,
    /// The VMM: krun, qemu, or auto for one that this host can run
    #[arg(long, default_value = "auto", env = "MSB_VMM")]
    vmm: String,
    /// Number of counted rounds of creating disks
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// The directory in which disks are created
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    work: PathBuf,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let (mut tables, mut targets) = fresh::measure(arguments)?;
    let mut vmm = None;
    if let Some(image) = &arguments.image {
        let (table, judged) = idle::measure(arguments, image, msb)?;
        tables.push(table);
        targets.extend(judged);
        vmm = Some(vmm_words(&arguments.vmm).to_owned());
    }
    Ok(Report::new("disk", Machine::this(vmm), tables, targets))
}
