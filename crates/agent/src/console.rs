use std::error::Error;
use std::io::Write as _;

use rustix::fs::{FileType, OFlags};

use crate::guarded_file::open_as;

/// Says one line on the machine's console. Nobody else may be listening.
pub(crate) fn say(line: &str) {
    // Root in the guest may stop it, or put a FIFO in its place.
    if let Ok(mut console) = open_as("/dev/console", FileType::CharacterDevice, OFlags::WRONLY) {
        // There is nowhere left to report that this failed.
        let _ = writeln!(console, "msb-agent: {line}");
    }
}

/// An error and its causes on one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    line
}
