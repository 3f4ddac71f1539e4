//! The lines of the process in the log of the machine. A guest can cause them, so their rate is bounded.

use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The number of lines that can be written at once after a silence.
const BURST: u32 = 64;
/// The time in which there is room for another line.
const INTERVAL: Duration = Duration::from_millis(250);

/// The log. Clones share its rate.
#[derive(Debug, Clone)]
pub(crate) struct Log(Arc<Mutex<Rate>>);

#[derive(Debug)]
struct Rate {
    room: u32,
    /// The time until which room was added.
    since: Instant,
    lost: u64,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Rate {
            room: BURST,
            since: Instant::now(),
            lost: 0,
        })))
    }

    /// Writes a line, unless there are too many. The next line says how many were lost.
    pub(crate) fn line(&self, text: &str) {
        let taken = self.rate(Rate::take);
        match taken {
            Some(lost) => write(text, lost),
            None => self.rate(|rate| rate.lost += 1),
        }
    }

    /// Writes a line that is not lost: it waits until there is room.
    pub(crate) async fn line_in_time(&self, text: &str) {
        loop {
            if let Some(lost) = self.rate(Rate::take) {
                return write(text, lost);
            }
            sleep(INTERVAL).await;
        }
    }

    fn rate<T>(&self, work: impl FnOnce(&mut Rate) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
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

fn write(text: &str, lost: u64) {
    let before = match lost {
        0 => String::new(),
        lost => format!("msb: {lost} lines about sockets were left out\n"),
    };
    // A line that does not fit on a full disk is lost, and the process continues.
    let _ = writeln!(io::stderr(), "{before}msb: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_bounded_and_counted() {
        let log = Log::new();
        let taken = || (0..1000).filter_map(|_| log.rate(Rate::take)).count();
        assert_eq!(taken(), 64);
        tokio::time::advance(INTERVAL * 3).await;
        assert_eq!(taken(), 3);
        log.line("lost");
        tokio::time::advance(INTERVAL).await;
        assert_eq!(log.rate(Rate::take), Some(1));
        log.line_in_time("it comes").await;
    }
}
