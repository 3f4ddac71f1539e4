use zerocopy::{FromBytes as _, FromZeros as _, IntoBytes as _};

use super::blocks::Blocks;
use super::budget::{METADATA_MAX_BYTES, Memory};
use super::layout::Layout;
use super::{OpenError, ReadAt, ReadError, Unsupported, journal};
use crate::features::{Compat, Incompat};
use crate::format::{SUPERBLOCK_OFFSET, SuperBlock, whole};
use crate::length::Length as _;

/// `EXT4_VALID_FS` in `s_state`: the image was unmounted, or never mounted.
const STATE_VALID: u16 = 1;
/// `EXT4_ERROR_FS` in `s_state`: the kernel met errors.
const STATE_ERRORS: u16 = 2;

/// An ext4 image, open for reading.
#[derive(Debug)]
pub struct Image<R> {
    pub(crate) blocks: Blocks<R>,
    pub(crate) layout: Layout,
    /// Memory for what one reading of the image keeps.
    pub(crate) memory: Memory,
}

/// Properties of an image, from its superblock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Superblock {
    /// UUID of the filesystem (`s_uuid`).
    pub uuid: [u8; 16],
    /// Name of the volume (`s_volume_name`); bytes that are not UTF-8 are replaced.
    pub label: String,
    /// Size of a block, in bytes.
    pub block_bytes: u64,
    /// Number of blocks in the filesystem.
    pub blocks: u64,
    /// Number of unused blocks, as the image counts them.
    pub free_blocks: u64,
    /// Number of inodes in the filesystem, in use or not.
    pub inodes: u32,
    /// Number of unused inodes, as the image counts them.
    pub free_inodes: u32,
    /// True if the kernel met errors in the filesystem.
    pub has_errors: bool,
    /// Number of blocks that are read from the journal, because the image was not unmounted.
    pub journaled_blocks: u64,
}

impl<R: ReadAt> Image<R> {
    /// Opens an image and checks its superblock, including the checksum if it has one.
    ///
    /// The journal of an image that was not unmounted is replayed in memory, so reads return what
    /// the kernel or `e2fsck` would recover. The source is never written. What is kept of the image
    /// takes at most [`METADATA_MAX_BYTES`].
    ///
    /// # Errors
    /// If the source cannot be read, is not ext4, or uses a feature that is not supported.
    pub fn open(source: R) -> Result<Self, OpenError> {
        Self::open_within(source, METADATA_MAX_BYTES)
    }

    /// Opens an image as [`Image::open`] does. The journal's map, and each reading of the metadata
    /// (names, xattrs, extents) take about `metadata_bytes` of memory at most.
    ///
    /// # Errors
    /// Fails as [`Image::open`] does, and if the journal's map needs more memory.
    pub fn open_within(source: R, metadata_bytes: u64) -> Result<Self, OpenError> {
        let (layout, size_bytes) = read_layout(&source)?;
        let blocks = Blocks::new(source, layout.block_bytes);
        let memory = Memory::new(metadata_bytes);
        let image = Self {
            blocks,
            layout,
            memory,
        };
        if image.layout.incompat.contains(Incompat::RECOVER) {
            return image.recovered(size_bytes);
        }
        let has_journal = image.layout.compat.contains(Compat::HAS_JOURNAL);
        if !has_journal && image.layout.disk.s_state.get() & STATE_VALID == 0 {
            return Err(OpenError::Unclean);
        }
        Ok(image)
    }

    /// Returns true if the journal of the image has to be replayed, because the image was neither
    /// unmounted nor frozen.
    ///
    /// # Errors
    /// Fails as [`Image::open`] does.
    pub fn needs_recovery(source: &R) -> Result<bool, OpenError> {
        let (layout, _) = read_layout(source)?;
        Ok(layout.incompat.contains(Incompat::RECOVER))
    }

    /// Returns the image overlaid with its journal's blocks, which may include the superblock.
    fn recovered(self, size_bytes: u64) -> Result<Self, OpenError> {
        let layout = &self.layout;
        let has_journal = layout.compat.contains(Compat::HAS_JOURNAL);
        if !has_journal || layout.disk.s_journal_inum.get() == 0 {
            return Err(ReadError::Unsupported(Unsupported::ExternalJournal).into());
        }
        let (newer, memory) = journal::replay(&self)?;
        let blocks = self.blocks.with_newer(newer);
        let mut disk = SuperBlock::new_zeroed();
        blocks.read(disk.as_mut_bytes(), SUPERBLOCK_OFFSET)?;
        let layout = Layout::new(disk, size_bytes)?;
        if layout.block_bytes != self.layout.block_bytes {
            let value = layout.block_size();
            let fault = super::Fault::Field {
                name: "another block size",
                value,
            };
            return Err(super::Structure::Journal
                .corrupt(SUPERBLOCK_OFFSET, fault)
                .into());
        }
        Ok(Self {
            blocks,
            layout,
            memory,
        })
    }
}

/// Reads and checks the superblock. Returns it with the size of the source, in bytes.
fn read_layout<R: ReadAt>(source: &R) -> Result<(Layout, u64), OpenError> {
    let io = |source| ReadError::Io {
        offset_bytes: SUPERBLOCK_OFFSET,
        source,
    };
    let size_bytes = source.size_bytes().map_err(io)?;
    let mut bytes = [0; size_of::<SuperBlock>()];
    if size_bytes < SUPERBLOCK_OFFSET + bytes.length_bytes() {
        return Err(OpenError::NotExt4 { magic: 0 });
    }
    source
        .read_exact_at(&mut bytes, SUPERBLOCK_OFFSET)
        .map_err(io)?;
    let disk = SuperBlock::read_from_bytes(&bytes).expect("as many bytes");
    Ok((Layout::new(disk, size_bytes)?, size_bytes))
}

impl<R: ReadAt> Image<R> {
    /// Returns the properties of the image.
    pub fn superblock(&self) -> Superblock {
        let disk = &self.layout.disk;
        let label = disk.s_volume_name.split(|&byte| byte == 0).next();
        Superblock {
            uuid: disk.s_uuid,
            label: String::from_utf8_lossy(label.unwrap_or_default()).into_owned(),
            block_bytes: self.layout.block_size(),
            blocks: self.layout.blocks,
            free_blocks: whole(
                disk.s_free_blocks_count_lo,
                disk.s_free_blocks_count_hi.get(),
            ),
            inodes: disk.s_inodes_count.get(),
            free_inodes: disk.s_free_inodes_count.get(),
            has_errors: disk.s_state.get() & STATE_ERRORS != 0,
            journaled_blocks: u64::try_from(self.blocks.newer_count()).unwrap_or(u64::MAX),
        }
    }

    /// Returns the source that was opened.
    pub fn into_inner(self) -> R {
        self.blocks.into_source()
    }
}
