//! The log of the VMM process, its standard error.

use std::io::{self, Write as _};

/// Writes a line to the VMM process's log.
pub(crate) fn log_line(what: &str) {
    // A line that does not fit on a full disk is lost, and the process continues.
    let _ = writeln!(io::stderr(), "msb: {what}");
}
