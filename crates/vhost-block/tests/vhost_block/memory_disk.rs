//! A disk in memory, whose calls are counted and fail on demand.

use std::io;

use served_disk::Disk;

#[derive(Debug, Default, Clone)]
pub(crate) struct MemoryDisk {
    pub(crate) bytes: Vec<u8>,
    pub(crate) flushes: usize,
    pub(crate) discards: Vec<(u64, u64)>,
    /// The calls of `zero`.
    pub(crate) zeros: usize,
    /// The kind of error that each call fails with.
    pub(crate) failure: Option<io::ErrorKind>,
    /// True if each call panics.
    pub(crate) panics: bool,
}

impl MemoryDisk {
    pub(crate) fn new(size_bytes: usize) -> Self {
        Self {
            bytes: vec![0; size_bytes],
            ..Self::default()
        }
    }

    fn check(&self) -> io::Result<()> {
        assert!(!self.panics, "the disk was told to panic");
        self.failure.map_or(Ok(()), |kind| Err(kind.into()))
    }
}

impl Disk for MemoryDisk {
    fn size_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&mut self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        self.check()?;
        let start = offset_bytes as usize;
        buf.copy_from_slice(&self.bytes[start..start + buf.len()]);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        self.check()?;
        let start = offset_bytes as usize;
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn zero(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.check()?;
        self.zeros += 1;
        let start = offset_bytes as usize;
        self.bytes[start..start + length_bytes as usize].fill(0);
        Ok(())
    }

    fn discard(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        self.check()?;
        self.discards.push((offset_bytes, length_bytes));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.check()?;
        self.flushes += 1;
        Ok(())
    }
}
