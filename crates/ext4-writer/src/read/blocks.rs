use std::collections::BTreeMap;

use super::{ReadAt, ReadError};
use crate::length::{Length, index_of};

/// Blocks of a filesystem: those of the source, overlaid with the newer ones in its journal.
#[derive(Debug)]
pub(crate) struct Blocks<R> {
    source: R,
    block_bytes: usize,
    newer: BTreeMap<u64, Logged>,
}

/// Location of a block in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Logged {
    /// Block of the image that holds the newer content.
    pub(crate) journal_block: u64,
    /// True if the block begins with the journal's magic number, for which the journal holds zeros.
    pub(crate) is_escaped: bool,
}

impl<R: ReadAt> Blocks<R> {
    pub(crate) const fn new(source: R, block_bytes: usize) -> Self {
        Self {
            source,
            block_bytes,
            newer: BTreeMap::new(),
        }
    }

    /// Returns the same blocks, overlaid with those in the journal.
    pub(crate) fn with_newer(self, newer: BTreeMap<u64, Logged>) -> Self {
        Self { newer, ..self }
    }

    /// Returns the number of blocks that come from the journal.
    pub(crate) fn newer_count(&self) -> usize {
        self.newer.len()
    }

    /// Returns true if one of consecutive blocks comes from the journal.
    pub(crate) fn has_newer(&self, first: u64, count: u64) -> bool {
        let blocks = first..first.saturating_add(count);
        self.newer.range(blocks).next().is_some()
    }

    pub(crate) fn into_source(self) -> R {
        self.source
    }

    /// Fills `buffer` from `offset_bytes` on, which counts from the start of the filesystem.
    pub(crate) fn read(&self, buffer: &mut [u8], offset_bytes: u64) -> Result<(), ReadError> {
        self.read_source(buffer, offset_bytes)?;
        let size = self.block_size();
        let end_bytes = offset_bytes.saturating_add(buffer.length_bytes());
        let touched = offset_bytes / size..end_bytes.div_ceil(size);
        for (&block, logged) in self.newer.range(touched) {
            let start_bytes = block.saturating_mul(size).max(offset_bytes);
            let stop_bytes = block.saturating_add(1).saturating_mul(size).min(end_bytes);
            let into = index_of(start_bytes - offset_bytes)..index_of(stop_bytes - offset_bytes);
            let content = self.logged(logged)?;
            let skip = index_of(start_bytes % size);
            let piece = &content[skip..skip + into.len()];
            buffer[into].copy_from_slice(piece);
        }
        Ok(())
    }

    /// Reads one block by its number.
    pub(crate) fn block(&self, number: u64) -> Result<Vec<u8>, ReadError> {
        let mut bytes = vec![0; self.block_bytes];
        self.read(&mut bytes, number.saturating_mul(self.block_size()))?;
        Ok(bytes)
    }

    fn block_size(&self) -> u64 {
        u64::try_from(self.block_bytes).expect("a block has 64 KiB at most")
    }

    fn logged(&self, logged: &Logged) -> Result<Vec<u8>, ReadError> {
        let mut bytes = vec![0; self.block_bytes];
        let offset_bytes = logged.journal_block.saturating_mul(self.block_size());
        self.read_source(&mut bytes, offset_bytes)?;
        if logged.is_escaped {
            bytes[..4].copy_from_slice(&crate::format::JOURNAL_MAGIC.to_be_bytes());
        }
        Ok(bytes)
    }

    fn read_source(&self, buffer: &mut [u8], offset_bytes: u64) -> Result<(), ReadError> {
        self.source
            .read_exact_at(buffer, offset_bytes)
            .map_err(|source| ReadError::Io {
                offset_bytes,
                source,
            })
    }
}
