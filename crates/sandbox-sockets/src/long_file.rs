use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// Lets a write beyond the longest file of the process fail. Otherwise the signal of the kernel would end the process, once
/// its log is that long. Needs the context of an event loop, and holds for the rest of the process's life.
pub(crate) fn fail_at_the_limit() -> io::Result<()> {
    // A handler stays after its stream is gone.
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
}
