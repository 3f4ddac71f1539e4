use zerocopy::FromBytes;

use crate::format::Dirent;

/// One entry of a directory, as stored on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DirEntry {
    /// The name; after parsing it may be empty or invalid.
    pub(crate) name: Box<[u8]>,
    /// The number of the inode that the name refers to.
    pub(crate) nid: u64,
    /// The inode's type, one of `EROFS_FT_*`; not checked.
    pub(crate) file_type: u8,
}

impl DirEntry {
    /// Returns true if this is `.` or `..`.
    pub(crate) fn is_dots(&self) -> bool {
        matches!(&*self.name, b"." | b"..")
    }
}

/// Parses one directory block. `block` is the used part of it. `None` if an entry or a name does
/// not fit.
pub(crate) fn parse_block(block: &[u8]) -> Option<Vec<DirEntry>> {
    let (first, _) = Dirent::read_from_prefix(block).ok()?;
    let names_start = usize::from(first.nameoff.get());
    let (dirents @ [_, ..], []) = block
        .get(..names_start)?
        .as_chunks::<{ size_of::<Dirent>() }>()
    else {
        return None;
    };
    let dirents: Vec<Dirent> = dirents
        .iter()
        .map(|bytes| Dirent::read_from_bytes(bytes).ok())
        .collect::<Option<_>>()?;
    let starts = dirents
        .iter()
        .map(|dirent| usize::from(dirent.nameoff.get()));
    let ends = starts.skip(1).map(Some).chain([None]);
    dirents
        .iter()
        .zip(ends)
        .map(|(dirent, end)| {
            let start = usize::from(dirent.nameoff.get());
            let name = match end {
                Some(end) => block.get(start..end)?,
                None => until_nul(block.get(start..)?),
            };
            Some(DirEntry {
                name: name.into(),
                nid: dirent.nid.get(),
                file_type: dirent.file_type,
            })
        })
        .collect()
}

/// Returns the last name of a block, which ends where the padding starts.
fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0);
    &bytes[..end.unwrap_or(bytes.len())]
}

#[cfg(test)]
mod tests {
    use super::super::{Entry, pack};
    use super::*;

    #[test]
    fn what_was_packed_is_parsed() {
        let names: [&[u8]; 3] = [b".", b"..", b"a\xff"];
        let entries = names.map(|name| Entry {
            name,
            nid: 9,
            file_type: 2,
        });
        let mut block = pack(&entries);
        block.resize(4096, 0);
        let parsed = parse_block(&block).expect("valid");
        assert!(parsed.iter().map(|entry| &*entry.name).eq(names));
    }

    #[test]
    fn offsets_outside_the_block_are_refused() {
        let entry = Entry {
            name: b"a",
            nid: 1,
            file_type: 1,
        };
        for (offset, bytes) in [(8, [0, 0]), (8, [13, 0]), (8, [0, 16]), (20, [200, 0])] {
            let mut block = pack(&[entry, entry]);
            block[offset..offset + 2].copy_from_slice(&bytes);
            assert_eq!(parse_block(&block), None, "{bytes:?} at {offset}");
        }
        assert_eq!(parse_block(b""), None);
    }
}
