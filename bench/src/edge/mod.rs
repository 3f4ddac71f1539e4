//! TLS that is ended for the hosts of secrets, beside TLS that is passed on: speed, first byte, many connections,
//! memory; without a guest, and in guests.

mod alone;
mod client;
mod crowd;
mod guest;
mod http2;
mod proxy;
mod resolver;
mod sandboxes;
mod upstream;

use std::time::Duration;

use anyhow::Result;

use crate::msb::{Msb, vmm_words};
use crate::report::{Machine, Report, Showing, Table, Target};

/// The time that one read or write may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Arguments of `msb bench edge`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without an image no guest runs: clients and a server of this program are joined by the part of a \
    sandbox's network that ends TLS, over the loopback interface. With an image that has Python, two sandboxes are \
    measured too, one with a secret and one without secrets.\n\n\
    Examples:\n  \
    msb bench edge\n  \
    msb bench edge python:3-slim\n  \
    msb bench edge --mib 16 --rounds 3"
)]
pub(crate) struct Arguments {
    /// An image with Python, for the measurements in guests
    image: Option<String>,
    /// The VMM: krun, qemu, or auto for one that this host can run
    #[arg(long, default_value = "auto", env = "MSB_VMM")]
    vmm: String,
    /// Length of the answer whose speed is measured, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1024))]
    mib: u32,
    /// The same in a guest, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1024))]
    guest_mib: u32,
    /// Number of counted rounds
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Number of connections of a round of many
    #[arg(long, value_name = "COUNT", default_value_t = 1000)]
    connections: usize,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// Tables, and the targets that they are judged by.
type Measured = (Vec<Table>, Vec<Target>);

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let (mut tables, mut targets) = alone::measure(arguments)?;
    let mut vmm = None;
    if let Some(image) = &arguments.image {
        let (more, judged) = guest::measure(arguments, msb, image)?;
        tables.extend(more);
        targets.extend(judged);
        vmm = Some(vmm_words(&arguments.vmm).to_owned());
    }
    let machine = Machine::this(vmm);
    Ok(Report::new("edge", machine, tables, targets))
}
