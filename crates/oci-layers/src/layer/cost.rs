use fstree::{BLOCK_SIZE_BYTES, Extent, FileData, Name};
use tar_stream::Entry;

use crate::error::{Exceeded, LayerError};
use crate::limits::{Limit, Limits};

/// Memory of an inode and its name without strings, in bytes, while a layer is read and written.
const INODE_BYTES: usize = 384;
/// Memory of an implied directory, in bytes. It also has a node for its children's names.
const DIRECTORY_BYTES: usize = 640;
/// Memory of an xattr without its name and value, in bytes.
const XATTR_BYTES: usize = 64;
/// Bytes that EROFS stores for each chunk of a file with holes.
const CHUNK_BYTES: u64 = 8;

/// The cost of a layer's tree so far. The figures are estimates that are rather too high.
#[derive(Debug)]
pub(crate) struct Cost<'a> {
    limits: &'a Limits,
    entries: u64,
    metadata_bytes: u64,
    stored_bytes: u64,
    target_growth_bytes: u64,
}

impl<'a> Cost<'a> {
    pub(crate) const fn new(limits: &'a Limits) -> Self {
        Self {
            limits,
            entries: 0,
            metadata_bytes: 0,
            stored_bytes: 0,
            target_growth_bytes: 0,
        }
    }

    /// Charges an entry, even if it is dropped later.
    pub(crate) fn charge_entry(&mut self, entry: &Entry) -> Result<(), LayerError> {
        let xattrs = &entry.metadata.xattrs;
        let strings = xattrs.iter().map(|(name, value)| name.len() + value.len());
        let xattrs_bytes = strings.sum();
        let checked = self.limits.check_length(Limit::EntryXattrs, xattrs_bytes);
        let strings_bytes = entry.path.len() + entry.link.len() + xattrs_bytes;
        let tables_bytes =
            xattrs.len() * XATTR_BYTES + entry.segments.len() * 2 * size_of::<Extent>();
        checked
            .and_then(|()| self.charge(1, INODE_BYTES + strings_bytes + tables_bytes))
            .map_err(|source| LayerError::refused(entry, source))
    }

    /// Charges a directory that has no entry in the archive.
    pub(crate) fn charge_directory(&mut self, name: &Name) -> Result<(), Exceeded> {
        self.charge(1, DIRECTORY_BYTES + name.as_bytes().len())
    }

    /// Charges a file's whole blocks on disk, and its chunk map if it has holes. Sparse data takes
    /// more bytes in blocks than in the archive. The map has an entry for each chunk, and chunks
    /// are as large as blocks and holes allow.
    pub(crate) fn charge_content(&mut self, data: &FileData) -> Result<(), Exceeded> {
        for extent in &data.extents {
            let bytes = extent.blocks.saturating_mul(BLOCK_SIZE_BYTES);
            self.stored_bytes = self.stored_bytes.saturating_add(bytes);
        }
        self.limits.check(Limit::LayerBytes, self.stored_bytes)?;
        let blocks = data.size_bytes.div_ceil(BLOCK_SIZE_BYTES);
        let is_whole = |extent: &Extent| extent.blocks == blocks;
        if blocks == 0 || data.extents.first().is_some_and(is_whole) {
            return Ok(());
        }
        let bounds = data.extents.iter();
        let bounds =
            bounds.flat_map(|extent| [extent.file_block, extent.file_block + extent.blocks]);
        let bounds = bounds.filter(|&bound| bound != blocks);
        let chunk_bits = bounds.map(u64::trailing_zeros).fold(31, u32::min);
        let map_bytes = (blocks >> chunk_bits).saturating_mul(CHUNK_BYTES);
        self.charge(0, usize::try_from(map_bytes).unwrap_or(usize::MAX))
    }

    /// Charges a link's target that is stored with its symlinks followed. Following can make a
    /// short target long.
    pub(crate) fn charge_target(&mut self, link: &[u8], path: &[u8]) -> Result<(), Exceeded> {
        let growth = path.len().saturating_sub(link.len());
        let growth = u64::try_from(growth).unwrap_or(u64::MAX);
        self.target_growth_bytes = self.target_growth_bytes.saturating_add(growth);
        self.limits
            .check(Limit::LayerTargets, self.target_growth_bytes)?;
        self.charge(0, path.len() + XATTR_BYTES)
    }

    fn charge(&mut self, entries: u64, bytes: usize) -> Result<(), Exceeded> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.entries = self.entries.saturating_add(entries);
        self.metadata_bytes = self.metadata_bytes.saturating_add(bytes);
        self.limits.check(Limit::LayerEntries, self.entries)?;
        self.limits.check(Limit::LayerMetadata, self.metadata_bytes)
    }
}
