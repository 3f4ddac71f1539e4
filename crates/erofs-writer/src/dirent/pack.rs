use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U64};

use crate::format::{BLOCK_BYTES, Dirent};

/// A name and the inode that it refers to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'name> {
    /// The name, 1 to 255 bytes.
    pub(crate) name: &'name [u8],
    /// The number of the named inode.
    pub(crate) nid: u64,
    /// The inode's type, one of `EROFS_FT_*`.
    pub(crate) file_type: u8,
}

/// Encodes a directory. Its entries must be sorted and include `.` and `..`. Every block but the
/// last is padded to its full length; names do not cross blocks.
pub(crate) fn pack(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut content = Vec::new();
    let mut rest = entries;
    while !rest.is_empty() {
        let (block, later) = rest.split_at(fitting(rest));
        content.resize(content.len().next_multiple_of(BLOCK_BYTES), 0);
        push_block(&mut content, block);
        rest = later;
    }
    content
}

/// Returns the number of entries, from the first on, that fit in one block.
fn fitting(entries: &[Entry<'_>]) -> usize {
    entries
        .iter()
        .scan(0, |used, entry| {
            *used += size_of::<Dirent>() + entry.name.len();
            Some(*used)
        })
        .take_while(|&used| used <= BLOCK_BYTES)
        .count()
}

fn push_block(content: &mut Vec<u8>, entries: &[Entry<'_>]) {
    let mut nameoff = entries.len() * size_of::<Dirent>();
    for entry in entries {
        let dirent = Dirent {
            nid: U64::new(entry.nid),
            nameoff: U16::new(u16::try_from(nameoff).expect("a block is shorter than 2^16 bytes")),
            file_type: entry.file_type,
            reserved: 0,
        };
        content.extend_from_slice(dirent.as_bytes());
        nameoff += entry.name.len();
    }
    for entry in entries {
        content.extend_from_slice(entry.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_fill_to_the_last_byte_and_never_split_a_name() {
        let name = [b'n'; 244];
        let entry = Entry {
            name: &name,
            nid: 7,
            file_type: 1,
        };
        assert_eq!(pack(&[entry; 16]).len(), 4096);
        let content = pack(&[entry; 17]);
        assert_eq!(content.len(), 4096 + 256);
        assert_eq!(&content[4096..4108], &[7, 0, 0, 0, 0, 0, 0, 0, 12, 0, 1, 0]);
    }
}
