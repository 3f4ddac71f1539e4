/// The generator xorshift64*.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).expect("31 bits") % limit
    }

    /// Returns one of several values.
    pub(crate) fn of<T: Clone>(&mut self, values: &[T]) -> Option<T> {
        (!values.is_empty()).then(|| values[self.below(values.len())].clone())
    }

    /// Returns up to `max_bytes` printable bytes that follow from one number.
    pub(super) fn content(&mut self, max_bytes: usize) -> Vec<u8> {
        let (length, first) = (self.below(max_bytes + 1), self.below(95));
        let byte = |at: usize| b' ' + u8::try_from((first + at / 7 * 3) % 95).expect("below 95");
        (0..length).map(byte).collect()
    }
}
