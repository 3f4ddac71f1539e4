//! Sandboxes by the dozen: killed at random moments, run by the thousand, many at once.

mod crashes;
mod crowd;
mod cycles;

pub(crate) use crashes::run as crashes;
pub(crate) use crowd::run as crowd;
pub(crate) use cycles::run as cycles;

use std::process::{Command, Output};

use anyhow::{Result, ensure};

use crate::checks::Bed;

/// Runs msb to a good end.
fn done(bed: &Bed, arguments: &[&str]) -> Result<Output> {
    let output = Command::new(&bed.msb).args(arguments).output()?;
    ensure!(
        output.status.success(),
        "msb {} gave {}: {}",
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output)
}
