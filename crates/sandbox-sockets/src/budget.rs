use std::time::Duration;

use tokio::time::Instant;

/// The number of lines that can be written at once after a silence.
const BURST: u32 = 64;
/// The time in which there is room for another line.
pub(crate) const INTERVAL: Duration = Duration::from_millis(250);

/// A bound on lines of one kind: on their rate, and on the sum of their bytes.
#[derive(Debug)]
pub(crate) struct Budget {
    /// The number of lines for which there is room.
    room: u32,
    /// The time until which room was added.
    since: Instant,
    /// The bytes that are left for all lines; 0 once one was too long.
    left_bytes: u64,
}

/// The reason for which there is no room for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lack {
    /// There were too many lines just before.
    Now,
    /// The bytes are used up since this line.
    AtLast,
    /// The bytes were used up before.
    Ever,
}

impl Budget {
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            room: BURST,
            since: Instant::now(),
            left_bytes: bytes,
        }
    }

    /// Takes room for a line.
    pub(crate) fn take(&mut self, line: &str) -> Result<(), Lack> {
        if self.left_bytes == 0 {
            return Err(Lack::Ever);
        }
        while self.room < BURST && self.since.elapsed() >= INTERVAL {
            self.room += 1;
            self.since += INTERVAL;
        }
        if self.room == BURST {
            self.since = Instant::now();
        }
        let room = self.room.checked_sub(1).ok_or(Lack::Now)?;
        let bytes = u64::try_from(line.len()).unwrap_or(u64::MAX);
        let Some(left_bytes) = self.left_bytes.checked_sub(bytes) else {
            self.left_bytes = 0;
            return Err(Lack::AtLast);
        };
        (self.room, self.left_bytes) = (room, left_bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_rate_of_lines_is_bounded() {
        let mut budget = Budget::new(u64::MAX);
        let mut taken = || (0..1000).filter(|_| budget.take("a\n").is_ok()).count();
        assert_eq!(taken(), 64);
        tokio::time::advance(INTERVAL * 3).await;
        assert_eq!(taken(), 3);
        tokio::time::advance(INTERVAL * 1000).await;
        assert_eq!(taken(), 64);
    }

    #[tokio::test(start_paused = true)]
    async fn the_sum_of_lines_is_bounded() {
        let mut budget = Budget::new(5);
        let mut take = || budget.take("ab");
        assert_eq!([take(), take()], [Ok(()), Ok(())]);
        assert_eq!([take(), take()], [Err(Lack::AtLast), Err(Lack::Ever)]);
    }
}
