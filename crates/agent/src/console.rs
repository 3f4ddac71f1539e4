use std::error::Error;
use std::io::Write as _;

use rustix::fs::{FileType, OFlags};

use crate::guarded_file::open_as;

/// Writes one line to the machine's console, whether or not anything reads it.
pub(crate) fn log(line: &str) {
    // Root in the guest may block the console, or put a FIFO in its place.
    if let Ok(mut console) = open_as("/dev/console", FileType::CharacterDevice, OFlags::WRONLY) {
        // A failure cannot be reported anywhere else.
        let _ = writeln!(console, "msb-agent: {line}");
    }
}

/// Returns an error and its sources as one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    line
}
