use std::io;

use ext4_writer::SparseOutput;
use generations::{Disk, FileStorage};

/// A disk of generations that a filesystem is written to. What is not written stays as it is.
pub struct NewDisk<'a>(pub &'a mut Disk<FileStorage>);

impl SparseOutput for NewDisk<'_> {
    /// Does nothing: the disk was made with its size.
    fn set_len(&mut self, _length_bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn write_all_at(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
        Ok(self.0.write(bytes, offset_bytes)?)
    }
}
