//! Attacks on the process of a sandbox's network.
//!
//! A hostile guest has its frame socket, and hostile peers connect to its published ports. No
//! machine is needed, and nothing leaves the loopback interface.

mod edge;
mod floods;
mod guest;
mod hosts;
mod passed_stream;
mod victim;

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use edge::EDGE_FLOODS;
use floods::{FLOODS, Flood};
use victim::Victim;

use super::Setting;
use super::tally::Tally;
use test_fixtures::paths;

/// The most memory that the process may have under any attack beside the pages of its program, in KiB.
const MEMORY_MAX_KIB: u64 = 43 << 10;
/// The same where it ends TLS.
const EDGE_MEMORY_MAX_KIB: u64 = 96 << 10;
/// Number of flows that a sandbox may have.
const FLOWS: u16 = 1024;

/// Number of flows if a wrapper makes each call take far longer.
const WRAPPED_FLOWS: u16 = 40;

/// Floods the process in each way, repeatedly until the time is over.
pub(super) fn attack(setting: &Setting<'_>, tally: &mut Tally) -> Result<()> {
    raise_open_files()?;
    loop {
        for flood in FLOODS.iter().chain(EDGE_FLOODS) {
            let outcome = flood_once(&setting.env.program, flood, FLOWS, &[]);
            tally.note(&format!("network: {}", flood.name), outcome);
        }
        if Instant::now() >= setting.until {
            return Ok(());
        }
    }
}

/// Floods the process in each way while `wrapper` runs it.
pub fn run_wrapped(msb: &Path, wrapper: &[&str]) -> Result<()> {
    raise_open_files()?;
    for flood in FLOODS.iter().chain(EDGE_FLOODS) {
        flood_once(msb, flood, WRAPPED_FLOWS, wrapper)?;
    }
    Ok(())
}

fn flood_once(msb: &Path, flood: &Flood, flows: u16, wrapper: &[&str]) -> Result<String> {
    let directory = paths::scratch("attacks-network")?.join("sandbox");
    let settings = (flood.settings)()?;
    let (victim, mut guest) = Victim::start(msb, &directory, &settings, wrapper)?;
    let began = Instant::now();
    let did = (flood.run)(&victim, &mut guest, flows)?;
    guest.await_ping()?;
    let (idle, peak) = (victim.idle_kib, victim.peak_kib()?);
    let (frames, seconds) = (guest.frames_sent, began.elapsed().as_secs_f64());
    victim.end(guest)?;
    let figures = format!(
        "{did}; {frames} frames in {seconds:.1} s; memory {:.1} MiB before, {:.1} MiB at most",
        kib_as_mib(idle),
        kib_as_mib(peak)
    );
    let most = if settings["secrets"].is_null() {
        MEMORY_MAX_KIB
    } else {
        EDGE_MEMORY_MAX_KIB
    };
    ensure!(peak < most, "more than {most} KiB: {figures}");
    Ok(figures)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn kib_as_mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

/// Raises the limit on open files, because the attackers hold many ends of connections.
fn raise_open_files() -> Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    Ok(setrlimit(Resource::Nofile, limit)?)
}
