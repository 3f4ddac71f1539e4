//! The lines of the process in the log of the machine. A guest can cause them, so their rate and their sum are bounded.
//!
//! Lines of signatures have their own bounds, which no other line uses up: a flood of refusals hides no signature.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::sleep;

use crate::budget::{Budget, INTERVAL, Lack};

/// The longest text of a line, in characters.
const TEXT_MAX: usize = 1024;
/// The sum of the lines of signatures, in bytes: more than 100,000 of them.
const SIGNATURES_MAX_BYTES: u64 = 32 << 20;
/// The sum of all other lines, in bytes.
const OTHERS_MAX_BYTES: u64 = 4 << 20;

/// The log. Clones share its bounds.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    file: Arc<File>,
    bounds: Arc<Mutex<Bounds>>,
}

#[derive(Debug)]
struct Bounds {
    signatures: Budget,
    others: Budget,
    /// The number of other lines that were left out since the last one.
    lost: u64,
}

impl Log {
    pub(crate) fn new(file: File) -> Self {
        Self::bounded(file, SIGNATURES_MAX_BYTES, OTHERS_MAX_BYTES)
    }

    /// Returns a log whose lines have at most these bytes in all.
    fn bounded(file: File, signatures_bytes: u64, others_bytes: u64) -> Self {
        let bounds = Bounds {
            signatures: Budget::new(signatures_bytes),
            others: Budget::new(others_bytes),
            lost: 0,
        };
        Self {
            file: Arc::new(file),
            bounds: Arc::new(Mutex::new(bounds)),
        }
    }

    /// Writes a line that is not about a signature, unless there are too many. The next line says how many were lost, and
    /// the last one that there will be no more.
    pub(crate) fn line(&self, text: &str) {
        let mut bounds = self.bounds();
        let before = match bounds.lost {
            0 => String::new(),
            lost => line(&format!("{lost} lines about sockets were left out")),
        };
        let text = before + &line(text);
        // A line that does not fit on a full disk is lost, too, and the process continues.
        let is_written = match bounds.others.take(&text) {
            Ok(()) => self.write(&text).is_ok(),
            Err(Lack::AtLast) => {
                let last = "further lines about sockets are left out, but for those of signatures";
                self.write(&line(last)).is_ok()
            }
            Err(Lack::Now | Lack::Ever) => false,
        };
        bounds.lost = if is_written { 0 } else { bounds.lost + 1 };
    }

    /// Writes the line of a signature, which is not lost: it waits until there is room.
    ///
    /// # Errors
    /// If the line cannot be written, because the disk is full for instance, or there were too many signatures.
    pub(crate) async fn signature(&self, text: &str) -> io::Result<()> {
        let text = line(text);
        loop {
            let taken = self.bounds().signatures.take(&text);
            match taken {
                Ok(()) => return self.write(&text),
                Err(Lack::Now) => sleep(INTERVAL).await,
                Err(Lack::AtLast | Lack::Ever) => {
                    return Err(io::Error::new(
                        io::ErrorKind::QuotaExceeded,
                        "the log has no room for more signatures until the sandbox is started again",
                    ));
                }
            }
        }
    }

    fn write(&self, text: &str) -> io::Result<()> {
        (&*self.file).write_all(text.as_bytes())
    }

    fn bounds(&self) -> MutexGuard<'_, Bounds> {
        self.bounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn line(text: &str) -> String {
    let text: String = text.chars().take(TEXT_MAX).collect();
    format!("msb: {text}\n")
}

#[cfg(test)]
mod tests;
