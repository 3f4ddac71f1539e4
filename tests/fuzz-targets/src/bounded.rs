use std::fmt;

/// An output that discards its text, and fails after this number of bytes.
pub(crate) struct Bounded(pub(crate) usize);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}
