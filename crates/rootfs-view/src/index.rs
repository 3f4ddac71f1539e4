//! The index of overlayfs, which maps files of the image to the upper copies that replace all their
//! names.

use std::collections::HashMap;

use fstree::{FileKind, InodeId, Tree};

use crate::error::OpenError;

/// Length of `struct ovl_fb` (fs/overlayfs/overlayfs.h) without the handle, in bytes: version,
/// magic, length, flags, type, UUID.
const HEAD_BYTES: usize = 21;
/// `OVL_FH_MAGIC` (fs/overlayfs/overlayfs.h).
const MAGIC: u8 = 0xfb;
/// `FILEID_INO32_GEN` (include/linux/exportfs.h): a 32-bit inode number, then a generation.
const INO32: u8 = 0x01;
/// `FILEID_INO64_GEN`: a 64-bit inode number with its high half first, then a generation.
const INO64: u8 = 0x81;

/// Returns the upper inodes by the inode number of the lower file that each is a copy of. `path` is the
/// index's path on the upper disk.
pub(crate) fn copies<D>(upper: &Tree<D>, path: &[u8]) -> Result<HashMap<u64, InodeId>, OpenError> {
    let mut copies = HashMap::new();
    let index = upper.find(path);
    let Some(names) = index.and_then(|index| upper.directory(index)) else {
        return Ok(copies);
    };
    for (name, &id) in names {
        let is_copy = !matches!(
            upper.inode(id).kind,
            FileKind::Directory(_) | FileKind::CharDevice(_)
        );
        // Names that begin with `#` are unfinished.
        if is_copy && !name.as_bytes().starts_with(b"#") {
            let number = number(name.as_bytes()).ok_or_else(|| OpenError::Handle {
                name: name.as_bytes().to_vec(),
            })?;
            copies.insert(number, id);
        }
    }
    Ok(copies)
}

/// Returns the inode number in a hexadecimal handle; `None` if the name is not such a handle.
fn number(name: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(name).ok()?;
    let bytes: Option<Vec<u8>> = (0..digits.len())
        .step_by(2)
        .map(|start| u8::from_str_radix(digits.get(start..start + 2)?, 16).ok())
        .collect();
    let bytes = bytes?;
    let (head, handle) = bytes.split_at_checked(HEAD_BYTES)?;
    if head[1] != MAGIC {
        return None;
    }
    let (words, _) = handle.as_chunks::<4>();
    let word = |index: usize| {
        words
            .get(index)
            .map(|&word| u64::from(u32::from_le_bytes(word)))
    };
    match head[4] {
        INO32 => word(0),
        INO64 => Some(word(0)? << 32 | word(1)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_hold_numbers() {
        let name = |kind: &str, handle: &str| {
            format!("00fb1d00{kind}{}{handle}", "00".repeat(16)).into_bytes()
        };
        assert_eq!(number(&name("01", "2a00000000000000")), Some(42));
        assert_eq!(
            number(&name("81", "010000000200000000000000")),
            Some((1 << 32) + 2)
        );
        assert_eq!(number(&name("02", "2a00000000000000")), None);
        assert_eq!(number(b"00fb"), None);
        assert_eq!(number(b"not hexadecimal"), None);
    }
}
