use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that can be read at any offset, without a current position.
pub trait ReadAt {
    /// Fills `buf` with the bytes from `offset_bytes` on.
    ///
    /// # Errors
    /// `UnexpectedEof` if the bytes end before `buf` is full; otherwise the system's error.
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()>;

    /// Returns the number of bytes.
    ///
    /// # Errors
    /// The error of the system.
    fn size_bytes(&self) -> io::Result<u64>;
}

impl ReadAt for [u8] {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let bytes = usize::try_from(offset_bytes)
            .ok()
            .and_then(|start| self.get(start..)?.get(..buf.len()))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buf.copy_from_slice(bytes);
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(u64::try_from(self.len()).expect("memory is shorter than 2^64 bytes"))
    }
}

impl ReadAt for Vec<u8> {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        self.as_slice().read_exact_at(buf, offset_bytes)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        self.as_slice().size_bytes()
    }
}

impl ReadAt for File {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buf, offset_bytes)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        (**self).read_exact_at(buf, offset_bytes)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        (**self).size_bytes()
    }
}
