use std::fs::File;
use std::io;

/// Output of an image, written at offsets. Bytes that are never written read as zeros.
pub trait SparseOutput {
    /// Sets the length of the output to `length_bytes`; all of it then reads as zeros.
    ///
    /// # Errors
    /// An error of the output.
    fn set_len(&mut self, length_bytes: u64) -> io::Result<()>;

    /// Writes `bytes` at `offset_bytes`.
    ///
    /// # Errors
    /// An error of the output.
    fn write_all_at(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()>;
}

impl SparseOutput for &File {
    /// Sets the file's length. The file must be new, because old content stays.
    fn set_len(&mut self, length_bytes: u64) -> io::Result<()> {
        File::set_len(self, length_bytes)
    }

    fn write_all_at(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        use std::io::{Seek as _, SeekFrom, Write as _};
        self.seek(SeekFrom::Start(offset_bytes))?;
        self.write_all(bytes)
    }
}
