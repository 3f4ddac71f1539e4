use fstree::FileType;
use zerocopy::{IntoBytes as _, U16, U32};

use crate::checksum::crc32c;
use crate::format::{BLOCK_BYTES, DirEntryHead, DirEntryTail, TAIL_FILE_TYPE};

const TAIL_BYTES: usize = size_of::<DirEntryTail>();
/// Bytes of a block that hold entries; the tail takes the rest.
const ROOM_BYTES: usize = BLOCK_BYTES - TAIL_BYTES;

/// A name in a directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) inode: u32,
    pub(crate) name: &'a [u8],
    pub(crate) file_type: FileType,
}

impl Entry<'_> {
    fn least_bytes(&self) -> usize {
        (size_of::<DirEntryHead>() + self.name.len()).next_multiple_of(4)
    }
}

/// Returns the blocks of a directory with these entries, which include `.` and `..`, in this order.
/// `seed` is the checksum seed of the directory's inode.
pub(crate) fn encode(entries: &[Entry<'_>], seed: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = entries;
    while !rest.is_empty() {
        let count = fitting(rest);
        let (here, later) = rest.split_at(count);
        bytes.extend_from_slice(&block(here, seed));
        rest = later;
    }
    bytes
}

/// Returns the number of entries that fit one block: at least one, because a name has at most 255
/// bytes.
fn fitting(entries: &[Entry<'_>]) -> usize {
    let mut used = 0;
    entries
        .iter()
        .take_while(|entry| {
            used += entry.least_bytes();
            used <= ROOM_BYTES
        })
        .count()
}

/// Encodes one block. The `rec_len` of the last entry reaches to the tail.
fn block(entries: &[Entry<'_>], seed: u32) -> [u8; BLOCK_BYTES] {
    let mut bytes = [0; BLOCK_BYTES];
    let mut at = 0;
    for (index, entry) in entries.iter().enumerate() {
        let is_last = index + 1 == entries.len();
        let rec_len = if is_last {
            ROOM_BYTES - at
        } else {
            entry.least_bytes()
        };
        let head = DirEntryHead {
            inode: U32::new(entry.inode),
            rec_len: U16::new(u16::try_from(rec_len).expect("within a block")),
            name_len: u8::try_from(entry.name.len()).expect("a name has 255 bytes at most"),
            file_type: code(entry.file_type),
        };
        let name_at = at + size_of::<DirEntryHead>();
        bytes[at..name_at].copy_from_slice(head.as_bytes());
        bytes[name_at..name_at + entry.name.len()].copy_from_slice(entry.name);
        at += rec_len;
    }
    let tail = DirEntryTail {
        det_reserved_zero1: U32::new(0),
        det_rec_len: U16::new(u16::try_from(TAIL_BYTES).expect("twelve")),
        det_reserved_zero2: 0,
        det_reserved_ft: TAIL_FILE_TYPE,
        det_checksum: U32::new(crc32c(seed, &bytes[..ROOM_BYTES])),
    };
    bytes[ROOM_BYTES..].copy_from_slice(tail.as_bytes());
    bytes
}

/// Returns the `EXT4_FT_*` code of a file type (fs/ext4/ext4.h).
pub(crate) const fn code(file_type: FileType) -> u8 {
    match file_type {
        FileType::Regular => 1,
        FileType::Directory => 2,
        FileType::CharDevice => 3,
        FileType::BlockDevice => 4,
        FileType::Fifo => 5,
        FileType::Socket => 6,
        FileType::Symlink => 7,
    }
}
