use std::fs::File;
use std::io;

/// Where an image goes: bytes at offsets. What is never written reads as zeros.
pub trait SparseOutput {
    /// Makes the output exactly this long; all of it reads as zeros.
    ///
    /// # Errors
    /// What the output gives.
    fn set_len(&mut self, length_bytes: u64) -> io::Result<()>;

    /// Writes `bytes` at `offset_bytes`.
    ///
    /// # Errors
    /// What the output gives.
    fn write_all_at(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()>;
}

impl SparseOutput for &File {
    /// The file must be new: what it held before stays.
    fn set_len(&mut self, length_bytes: u64) -> io::Result<()> {
        File::set_len(self, length_bytes)
    }

    fn write_all_at(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        use std::io::{Seek as _, SeekFrom, Write as _};
        self.seek(SeekFrom::Start(offset_bytes))?;
        self.write_all(bytes)
    }
}
