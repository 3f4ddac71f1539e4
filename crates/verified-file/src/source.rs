use std::io;

/// Another place that has the bytes of a file: a packed file, an object store, a registry. It need not be
/// trusted, because its bytes are verified.
pub trait Source: Send + Sync {
    /// Fills `buf` with the bytes of the file from `offset_bytes` on: whole blocks of 4 KiB, or the end of the
    /// file. It bounds its time itself.
    ///
    /// # Errors
    /// If the source does not have the bytes, or cannot be read. The next source is asked then.
    fn fetch(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()>;
}
