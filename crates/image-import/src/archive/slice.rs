use std::fs::File;
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::os::unix::fs::FileExt as _;

/// A reader of a byte range of a file that several readers share.
#[derive(Debug)]
pub(super) struct Slice<F> {
    file: F,
    /// The bytes that are still to be read, as offsets from the file's start.
    left: Range<u64>,
}

impl<F: Deref<Target = File>> Slice<F> {
    pub(super) const fn new(file: F, bytes: Range<u64>) -> Self {
        Self { file, left: bytes }
    }
}

impl<F: Deref<Target = File>> Read for Slice<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left_bytes = self.left.end.saturating_sub(self.left.start);
        let wanted = usize::try_from(left_bytes).unwrap_or(usize::MAX);
        let wanted = wanted.min(buffer.len());
        let count = self.file.read_at(&mut buffer[..wanted], self.left.start)?;
        self.left.start += u64::try_from(count).unwrap_or(0);
        Ok(count)
    }
}
