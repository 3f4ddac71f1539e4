use std::io::Write as _;

pub(crate) use guest_container::chain;
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
