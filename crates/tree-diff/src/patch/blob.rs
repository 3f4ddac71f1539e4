use fstree::{FileKind, InodeId};

use super::EXECUTABLE;
use crate::Side;

/// The longest file that is treated as text, in bytes.
pub const TEXT_MAX_BYTES: u64 = 8 << 20;
/// Bytes of a file in which git looks for a NUL byte (`FIRST_FEW_BYTES`, xdiff-interface.c).
const LOOKED_AT_BYTES: usize = 8000;

/// A file that a patch can express.
#[derive(Debug)]
pub(super) struct Blob {
    mode: &'static str,
    size_bytes: u64,
    /// `None` if the file is not text, or too long.
    text: Option<Vec<u8>>,
}

impl Blob {
    /// Reads a file. `None` if it does not exist, or is neither a regular file nor a symlink.
    pub(super) fn read<S: Side>(side: &S, id: Option<InodeId>) -> Result<Option<Self>, S::Error> {
        let (Some(id), Some(mode)) = (id, mode(side, id)) else {
            return Ok(None);
        };
        let content = match &side.tree().inode(id).kind {
            FileKind::Regular(content) => content,
            FileKind::Symlink(target) => {
                return Ok(Some(Self {
                    mode,
                    size_bytes: target.len() as u64,
                    text: Some(target.to_vec()),
                }));
            }
            _ => return Ok(None),
        };
        let size_bytes = side.size_bytes(content);
        let mut text = None;
        if size_bytes <= TEXT_MAX_BYTES {
            let length = usize::try_from(size_bytes).expect("a text fits into memory");
            let mut bytes = vec![0; length];
            side.read_at(content, 0, &mut bytes)?;
            text = is_text(&bytes).then_some(bytes);
        }
        Ok(Some(Self {
            mode,
            size_bytes,
            text,
        }))
    }

    /// Returns the text of a file; that of a file that does not exist is empty. `None` if the file
    /// is not text.
    pub(super) fn text(blob: Option<&Self>) -> Option<&[u8]> {
        blob.map_or(Some(&b""[..]), |blob| blob.text.as_deref())
    }

    /// Returns the text of a regular file; `None` if it is not text, or a symlink.
    pub(super) fn into_text(self) -> Option<Vec<u8>> {
        self.text.filter(|_| self.mode != SYMLINK)
    }

    pub(super) const fn mode(&self) -> &'static str {
        self.mode
    }

    pub(super) fn is_symlink(&self) -> bool {
        self.mode == SYMLINK
    }

    pub(super) const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
}

/// Returns true if bytes are text: the first of them have no NUL byte, and they are not too many.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let is_short = u64::try_from(bytes.len()).is_ok_and(|length| length <= TEXT_MAX_BYTES);
    is_short && !bytes[..bytes.len().min(LOOKED_AT_BYTES)].contains(&0)
}

/// Git's mode of a symlink.
const SYMLINK: &str = "120000";

/// Returns git's mode of a file. `None` if git has none for it.
pub(super) fn mode<S: Side>(side: &S, id: Option<InodeId>) -> Option<&'static str> {
    let inode = side.tree().inode(id?);
    match inode.kind {
        FileKind::Regular(_) if inode.metadata.mode & EXECUTABLE != 0 => Some("100755"),
        FileKind::Regular(_) => Some("100644"),
        FileKind::Symlink(_) => Some(SYMLINK),
        _ => None,
    }
}

/// Returns true if a file that is added or deleted cannot be expressed. A directory is implied by
/// its files, so only an empty one counts.
pub(super) fn is_inexpressible<S: Side>(side: &S, id: Option<InodeId>) -> bool {
    let Some(id) = id else {
        return false;
    };
    let inode = side.tree().inode(id);
    match &inode.kind {
        FileKind::Regular(_) | FileKind::Symlink(_) => !inode.metadata.xattrs.is_empty(),
        FileKind::Directory(names) => names.is_empty() || !inode.metadata.xattrs.is_empty(),
        _ => true,
    }
}
