//! The layout of a packed file; `docs/formats/packed-file.md` has the same fields.

use blake3::Hasher;
use zerocopy::byteorder::LE;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, U32, U64, Unaligned};

use crate::value::{GROUP_BYTES, Value};
use crate::{narrow, wide};

/// The largest size of a plain file, in bytes: that of a disk of generations.
pub const SIZE_MAX_BYTES: u64 = 16 << 40;
/// Bytes at the end of a packed file that are read first. They hold the end record, and the directory of a
/// plain file of up to 101 GiB.
pub const TAIL_BYTES: u64 = 16 << 10;

/// The version of the format.
pub(crate) const VERSION: u32 = 1;
/// The last bytes of a packed file.
pub(crate) const MAGIC: [u8; 12] = *b"packed file\n";
/// Groups of a section: a power of two, so that a section is a subtree of BLAKE3. Its table has 144 KiB.
pub(crate) const SECTION_GROUPS: usize = 4096;
/// Bytes of a group in a table: the length of its frame, and its value.
pub(crate) const TABLE_ENTRY_BYTES: usize = size_of::<U32<LE>>() + size_of::<Value>();

/// The end of a packed file.
#[derive(Debug, Clone, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct EndRecord {
    pub(crate) size_bytes: U64<LE>,
    pub(crate) directory_offset_bytes: U64<LE>,
    pub(crate) checksum: Value,
    pub(crate) seal: [u8; 32],
    // A reader of any version finds these two at the end of a file of any version.
    pub(crate) version: U32<LE>,
    pub(crate) magic: [u8; 12],
}

const _: () = assert!(size_of::<EndRecord>() == 96);

impl EndRecord {
    /// Returns the seal of a directory and of this record: the BLAKE3 of both, without the seal itself.
    pub(crate) fn sealed(&self, directory: &[u8]) -> [u8; 32] {
        let mut hasher = Hasher::new();
        hasher.update(directory);
        hasher.update(self.size_bytes.as_bytes());
        hasher.update(self.directory_offset_bytes.as_bytes());
        hasher.update(&self.checksum);
        hasher.update(self.version.as_bytes());
        hasher.update(&self.magic);
        *hasher.finalize().as_bytes()
    }
}

/// A section in the directory.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct DirectoryEntry {
    pub(crate) table_offset_bytes: U64<LE>,
    pub(crate) value: Value,
}

const _: () = assert!(size_of::<DirectoryEntry>() == 40);

/// The groups of a plain file, and their places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Groups {
    /// The size of the plain file, in bytes.
    pub(crate) size_bytes: u64,
}

impl Groups {
    /// Returns the number of groups.
    pub(crate) fn count(self) -> u64 {
        self.size_bytes.div_ceil(wide(GROUP_BYTES))
    }

    /// Returns the length of a group, in bytes; 0 behind the last one.
    pub(crate) fn length(self, number: u64) -> usize {
        let start_bytes = number.saturating_mul(wide(GROUP_BYTES));
        let left_bytes = self.size_bytes.saturating_sub(start_bytes);
        narrow(left_bytes.min(wide(GROUP_BYTES)))
    }

    /// Returns true if there is one group: its value is the checksum.
    pub(crate) fn is_one(self) -> bool {
        self.size_bytes <= wide(GROUP_BYTES)
    }

    /// Returns the number of sections.
    pub(crate) fn sections(self) -> u64 {
        self.count().div_ceil(wide(SECTION_GROUPS))
    }

    /// Returns the number of groups of a section; 0 behind the last one.
    pub(crate) fn in_section(self, section: usize) -> usize {
        let first = wide(section).saturating_mul(wide(SECTION_GROUPS));
        narrow(self.count().saturating_sub(first).min(wide(SECTION_GROUPS)))
    }

    /// Returns the length of a section's table, in bytes.
    pub(crate) fn table_bytes(self, section: usize) -> u64 {
        wide(self.in_section(section) * TABLE_ENTRY_BYTES)
    }
}
