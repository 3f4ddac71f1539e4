use bitflags::bitflags;
use zerocopy::byteorder::BE;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, U16, U32, Unaligned};

use crate::checksum::{START, crc32c};
use crate::format::{JOURNAL_MAGIC, JOURNAL_SUPERBLOCK_V2, JournalSuperBlock};
use crate::read::{Fault, Unsupported};

/// Length of `struct journal_superblock_s`, then the offset of its `s_checksum`; both in bytes.
const SUPERBLOCK_BYTES: usize = 1024;
const CHECKSUM_AT: usize = 0xfc;
/// `JBD2_SUPERBLOCK_V1`: the `h_blocktype` of a superblock without feature fields.
const SUPERBLOCK_V1: u32 = 3;

bitflags! {
    /// Bits of `s_feature_incompat` in a journal (include/linux/jbd2.h).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) struct Features: u32 {
        const REVOKE = 0x1;
        const BITS_64 = 0x2;
        const ASYNC_COMMIT = 0x4;
        const CSUM_V2 = 0x8;
        const CSUM_V3 = 0x10;
    }
}

/// `struct journal_header_s` (include/linux/jbd2.h).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Header {
    pub(super) h_magic: U32<BE>,
    pub(super) h_blocktype: U32<BE>,
    pub(super) h_sequence: U32<BE>,
}
const _: () = assert!(size_of::<Header>() == 12);

/// `h_blocktype`: the block holds a tag for each block that follows (`JBD2_DESCRIPTOR_BLOCK`).
pub(super) const DESCRIPTOR: u32 = 1;
/// `h_blocktype`: the block ends a transaction (`JBD2_COMMIT_BLOCK`).
pub(super) const COMMIT: u32 = 2;
/// `h_blocktype`: the block lists blocks that earlier transactions must not restore
/// (`JBD2_REVOKE_BLOCK`).
pub(super) const REVOKE: u32 = 5;

/// `struct journal_block_tag3_s` (include/linux/jbd2.h), used with `CSUM_V3`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Tag3 {
    pub(super) t_blocknr: U32<BE>,
    pub(super) t_flags: U32<BE>,
    pub(super) t_blocknr_high: U32<BE>,
    pub(super) t_checksum: U32<BE>,
}
const _: () = assert!(size_of::<Tag3>() == 16);

/// `struct journal_block_tag_s` (include/linux/jbd2.h); without `64bit` it ends before the high
/// half.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Tag {
    pub(super) t_blocknr: U32<BE>,
    pub(super) t_checksum: U16<BE>,
    pub(super) t_flags: U16<BE>,
    pub(super) t_blocknr_high: U32<BE>,
}
const _: () = assert!(size_of::<Tag>() == 12);

/// Fields of a journal's superblock that was checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Journal {
    pub(super) features: Features,
    /// First block of the log and the block after its last, counted from the journal's start.
    pub(super) first: u32,
    pub(super) end: u32,
    /// Block at which the oldest transaction begins; 0 if there is none.
    pub(super) start: u32,
    /// Sequence number of that transaction.
    pub(super) sequence: u32,
    /// Seed of the journal's checksums.
    pub(super) seed: u32,
}

/// Reason to refuse a journal's superblock.
pub(super) enum Problem {
    Fault(Fault),
    Unsupported(Unsupported),
}

impl Journal {
    /// Reads the first block of a journal whose file has `blocks` blocks.
    pub(super) fn read(bytes: &[u8], blocks: u64) -> Result<Self, Problem> {
        let field = |name, value: u32| {
            Problem::Fault(Fault::Field {
                name,
                value: value.into(),
            })
        };
        let (disk, _) = JournalSuperBlock::read_from_prefix(bytes)
            .map_err(|_| field("a block that is too short", 0))?;
        if disk.h_magic.get() != JOURNAL_MAGIC {
            return Err(field("h_magic", disk.h_magic.get()));
        }
        let features = match disk.h_blocktype.get() {
            SUPERBLOCK_V1 => Features::empty(),
            JOURNAL_SUPERBLOCK_V2 => Features::from_bits_retain(disk.s_feature_incompat.get()),
            other => return Err(field("h_blocktype", other)),
        };
        let bits = features.difference(Features::all()).bits();
        if bits != 0 {
            return Err(Problem::Unsupported(Unsupported::JournalFeatures { bits }));
        }
        let journal = Self {
            features,
            first: disk.s_first.get(),
            end: disk.s_maxlen.get(),
            start: disk.s_start.get(),
            sequence: disk.s_sequence.get(),
            seed: crc32c(START, &disk.s_uuid),
        };
        let block_bytes = disk.s_blocksize.get();
        if usize::try_from(block_bytes) != Ok(bytes.len()) {
            return Err(field("s_blocksize", block_bytes));
        }
        if u64::from(journal.end) > blocks || journal.first == 0 || journal.first >= journal.end {
            return Err(field("s_maxlen", journal.end));
        }
        if journal.start != 0 && !(journal.first..journal.end).contains(&journal.start) {
            return Err(field("s_start", journal.start));
        }
        journal.check_superblock(bytes).map_err(Problem::Fault)?;
        Ok(journal)
    }

    /// Returns true if every block of the log's own metadata ends with a checksum.
    pub(super) fn has_checksums(&self) -> bool {
        self.features
            .intersects(Features::CSUM_V2 | Features::CSUM_V3)
    }

    fn check_superblock(&self, bytes: &[u8]) -> Result<(), Fault> {
        if !self.has_checksums() {
            return Ok(());
        }
        let covered = &bytes[..SUPERBLOCK_BYTES];
        let stored = covered[CHECKSUM_AT..].first_chunk().expect("four bytes");
        let stored = u32::from_be_bytes(*stored);
        let computed = crc32c(START, &covered[..CHECKSUM_AT]);
        let computed = crc32c(crc32c(computed, &[0; 4]), &covered[CHECKSUM_AT + 4..]);
        if stored == computed {
            return Ok(());
        }
        Err(Fault::Checksum { stored, computed })
    }
}
