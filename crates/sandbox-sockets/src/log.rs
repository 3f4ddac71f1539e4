//! The lines of the process in the log of the machine. A guest can cause them, so their rate is bounded.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The number of lines that can be written at once after a silence.
const BURST: u32 = 64;
/// The time in which there is room for another line.
const INTERVAL: Duration = Duration::from_millis(250);

/// The longest text of a line, in characters.
const TEXT_MAX: usize = 1024;

/// The log. Clones share its rate.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    file: Arc<File>,
    rate: Arc<Mutex<Rate>>,
}

#[derive(Debug)]
struct Rate {
    room: u32,
    /// The time until which room was added.
    since: Instant,
    lost: u64,
}

impl Log {
    pub(crate) fn new(file: File) -> Self {
        let rate = Rate {
            room: BURST,
            since: Instant::now(),
            lost: 0,
        };
        Self {
            file: Arc::new(file),
            rate: Arc::new(Mutex::new(rate)),
        }
    }

    /// Writes a line, unless there are too many. The next line says how many were lost.
    pub(crate) fn line(&self, text: &str) {
        let taken = self.rate(Rate::take);
        // A line that does not fit on a full disk is lost, too, and the process continues.
        let is_written = taken.is_some_and(|lost| self.write(text, lost).is_ok());
        if !is_written {
            self.rate(|rate| rate.lost += 1);
        }
    }

    /// Writes a line that is not lost: it waits until there is room.
    ///
    /// # Errors
    /// If the line cannot be written, because the disk is full for instance.
    pub(crate) async fn line_in_time(&self, text: &str) -> io::Result<()> {
        loop {
            if let Some(lost) = self.rate(Rate::take) {
                return self.write(text, lost);
            }
            sleep(INTERVAL).await;
        }
    }

    fn write(&self, text: &str, lost: u64) -> io::Result<()> {
        let before = match lost {
            0 => String::new(),
            lost => format!("msb: {lost} lines about sockets were left out\n"),
        };
        let text: String = text.chars().take(TEXT_MAX).collect();
        let line = format!("{before}msb: {text}\n");
        (&*self.file).write_all(line.as_bytes())
    }

    fn rate<T>(&self, work: impl FnOnce(&mut Rate) -> T) -> T {
        work(&mut self.rate.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Rate {
    /// Takes room for a line. Returns the number of lines that were lost before it; `None` if there is no room.
    fn take(&mut self) -> Option<u64> {
        while self.room < BURST && self.since.elapsed() >= INTERVAL {
            self.room += 1;
            self.since += INTERVAL;
        }
        if self.room == BURST {
            self.since = Instant::now();
        }
        self.room = self.room.checked_sub(1)?;
        Some(std::mem::take(&mut self.lost))
    }
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_bounded_and_counted() {
        let log = Log::new(tempfile::tempfile().expect("a file"));
        let taken = || (0..1000).filter_map(|_| log.rate(Rate::take)).count();
        assert_eq!(taken(), 64);
        tokio::time::advance(INTERVAL * 3).await;
        assert_eq!(taken(), 3);
        log.line("lost");
        tokio::time::advance(INTERVAL).await;
        assert_eq!(log.rate(Rate::take), Some(1));
        log.line_in_time("it comes").await.expect("written");
    }

    #[tokio::test]
    async fn a_line_is_short_and_a_full_disk_is_told() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let log = Log::new(file.reopen().expect("opened"));
        log.line(&"é".repeat(1 << 20));
        log.line_in_time("signed").await.expect("written");
        let text = fs::read_to_string(file.path()).expect("read");
        assert_eq!(text, format!("msb: {}\nmsb: signed\n", "é".repeat(1024)));
        let full = File::options().write(true).open("/dev/full");
        let log = Log::new(full.expect("opened"));
        log.line_in_time("signed").await.expect_err("a full disk");
    }
}
