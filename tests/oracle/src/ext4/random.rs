/// A generator of numbers that follow from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number of the sequence.
    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `end`, which is not 0.
    pub(super) const fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns true once in `times`.
    pub(super) const fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns `length` random bytes.
    pub(super) fn bytes(&mut self, length: u64) -> Vec<u8> {
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}
