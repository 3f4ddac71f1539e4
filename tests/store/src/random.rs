use std::time::{SystemTime, UNIX_EPOCH};

/// A generator of numbers (xorshift64*); its seed repeats a run.
pub(super) struct Random {
    state: u64,
    pub(super) seed: u64,
}

impl Random {
    /// Returns a generator with another seed each time.
    pub(super) fn new() -> Self {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH);
        Self::with_seed(clock.map_or(1, |since| u64::from(since.subsec_nanos())))
    }

    pub(super) const fn with_seed(seed: u64) -> Self {
        Self {
            state: seed | 1,
            seed,
        }
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        usize::try_from((self.next() >> 11) % limit).unwrap_or(0)
    }

    pub(super) fn bytes(&mut self, length: usize) -> Vec<u8> {
        let words = std::iter::repeat_with(|| self.next().to_le_bytes());
        words.flatten().take(length).collect()
    }
}
