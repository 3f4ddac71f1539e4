use std::error::Error;
use std::io::{Read, Seek, Write};

use erofs_writer::{ImageWriter, Run, WriteError};

/// Where the content of regular files goes, as it streams by.
pub trait DataSink {
    /// Why content cannot be stored.
    type Error: Error + Send + Sync + 'static;

    /// Stores the next `length_bytes` of `content` as one run of blocks, the last of them
    /// zero-padded, or finds the run that holds the same; `None` for no bytes at all.
    fn append(
        &mut self,
        content: &mut dyn Read,
        length_bytes: u64,
    ) -> Result<Option<Run>, Self::Error>;
}

impl<W: Read + Write + Seek> DataSink for ImageWriter<W> {
    type Error = WriteError;

    fn append(
        &mut self,
        content: &mut dyn Read,
        length_bytes: u64,
    ) -> Result<Option<Run>, WriteError> {
        Self::append(self, content, length_bytes)
    }
}
