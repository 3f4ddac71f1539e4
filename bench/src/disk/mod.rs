//! A sandbox's writable disk before anything is written: how long it takes to make, what it takes of
//! the host, and what an idle guest makes of it.

mod fresh;
mod idle;

use std::path::PathBuf;

use anyhow::Result;

use crate::msb::{Msb, vmm_words};
use crate::report::{Machine, Report, Showing};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A size, and what such a disk may be.
struct Size {
    name: &'static str,
    bytes: u64,
    /// The most that it takes of the host, fresh.
    allocated_max_bytes: u64,
    /// The longest that making it may take, where that is said.
    made_max_s: Option<f64>,
    /// Whether an idle guest is watched with it.
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
pub struct Arguments {
    /// An image whose idle guests are watched too
    image: Option<String>,
    /// How long they are watched, in minutes
    #[arg(long, default_value_t = 10)]
    idle_minutes: u64,
    /// The VMM: krun, qemu, or what fits this host
    #[arg(long, default_value = "auto", env = "MSB_VMM")]
    vmm: String,
    /// Counted rounds of making disks
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Where they are made
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
