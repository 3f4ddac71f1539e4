//! The log of the shim: lines in the FIFO `log` of the bundle, which containerd copies to its own log.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags};

/// The most characters of a message.
const MESSAGE_MAX: usize = 4096;

/// The log of the shim. Without a reader, lines are lost, because a shim never waits for its log.
#[derive(Clone, Default)]
pub struct Log(Option<Arc<File>>);

impl Log {
    /// Opens the FIFO `log` in a bundle. Without one, lines are lost.
    #[must_use]
    pub fn open(bundle: &Path) -> Self {
        // With both ends in one descriptor, opening waits for no reader, and a reader may go and come back.
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fifo = rustix::fs::open(bundle.join("log"), flags, Mode::empty());
        let fifo = fifo.ok().filter(|fifo| {
            let found = rustix::fs::fstat(fifo);
            found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Fifo)
        });
        Self(fifo.map(|fifo| Arc::new(File::from(fifo))))
    }

    /// Writes a line of the level `warning`.
    pub fn warn(&self, message: &str) {
        self.line("warning", message);
    }

    /// Writes a line of the level `info`.
    pub fn info(&self, message: &str) {
        self.line("info", message);
    }

    fn line(&self, level: &str, message: &str) {
        let Some(fifo) = &self.0 else { return };
        let time = jiff::Timestamp::now();
        let message: String = message.chars().take(MESSAGE_MAX).collect();
        let line =
            format!("time=\"{time}\" level={level} msg={message:?} runtime=io.containerd.msb.v1\n");
        // A full FIFO is a log without a reader.
        let _ = (&**fifo).write(line.as_bytes());
    }
}
