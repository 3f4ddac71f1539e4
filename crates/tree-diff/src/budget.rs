use crate::error::CompareError;

/// Most bytes of a result: a guest needs few blocks for many long paths.
const RESULT_MAX_BYTES: usize = 256 << 20;

/// The memory that the result of a comparison may still take.
#[derive(Debug)]
pub(crate) struct Budget {
    left_bytes: usize,
}

impl Budget {
    pub(crate) const fn new() -> Self {
        Self {
            left_bytes: RESULT_MAX_BYTES,
        }
    }

    /// Counts memory that is kept.
    pub(crate) fn take<E>(&mut self, bytes: usize) -> Result<(), CompareError<E>> {
        let left = self.left_bytes.checked_sub(bytes);
        self.left_bytes = left.ok_or(CompareError::TooManyChanges {
            limit_bytes: RESULT_MAX_BYTES,
        })?;
        Ok(())
    }
}
