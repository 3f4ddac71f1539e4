use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A sparse file that has parts of an artifact at their own offsets. All offsets and lengths are in bytes.
///
/// Its bytes are proven when they are read, so its writes may be lost, torn and reordered.
pub trait CacheFile: Send + Sync {
    /// Fills `buf` with the bytes from `offset_bytes` on.
    ///
    /// # Errors
    /// If they cannot be read, or the file ends before.
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()>;

    /// Writes all of `bytes`, without making them durable.
    ///
    /// # Errors
    /// If that fails; any part may have been written.
    fn write_all_at(&self, bytes: &[u8], offset_bytes: u64) -> io::Result<()>;

    /// Makes a range a hole. A file that cannot do so keeps the bytes.
    ///
    /// # Errors
    /// If that fails.
    fn punch(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()>;

    /// Returns the space that the file takes.
    ///
    /// # Errors
    /// If it is unknown.
    fn allocated_bytes(&self) -> io::Result<u64>;
}

impl CacheFile for File {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buf, offset_bytes)
    }

    fn write_all_at(&self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset_bytes)
    }

    fn punch(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        durable_files::punch(self, offset_bytes, length_bytes)
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        Ok(durable_files::allocated_bytes(&self.metadata()?))
    }
}
