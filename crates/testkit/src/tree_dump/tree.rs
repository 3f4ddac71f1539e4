use fstree::{FileKind, Tree, WalkEntry};

use super::line::Line;
use super::{Content, TreeDump};

impl TreeDump {
    /// Dumps a tree; `content` returns the size and digest of a regular file.
    ///
    /// # Errors
    /// The first error of `content`.
    pub fn from_tree<D, E>(
        tree: &Tree<D>,
        mut content: impl FnMut(&D) -> Result<Content, E>,
    ) -> Result<Self, E> {
        let lines = tree.walk().map(|entry| line(&entry, &mut content));
        Ok(Self::new(lines.collect::<Result<_, E>>()?))
    }
}

fn line<D, E>(
    entry: &WalkEntry<'_, D>,
    content: &mut impl FnMut(&D) -> Result<Content, E>,
) -> Result<Line, E> {
    let inode = entry.inode;
    let metadata = &inode.metadata;
    let (mut device, mut target, mut data) = (None, None, None);
    match &inode.kind {
        FileKind::Regular(regular) => data = Some(content(regular)?),
        FileKind::Symlink(bytes) => target = Some(bytes.to_vec()),
        FileKind::CharDevice(number) | FileKind::BlockDevice(number) => device = Some(*number),
        FileKind::Directory(_) | FileKind::Fifo | FileKind::Socket => {}
    }
    Ok(Line {
        path: [b"/", entry.path.as_slice()].concat(),
        file_type: inode.kind.file_type(),
        mode: metadata.mode,
        uid: metadata.uid,
        gid: metadata.gid,
        mtime: metadata.mtime,
        device,
        target,
        xattrs: metadata.xattrs.clone(),
        content: data,
        identity: u64::try_from(entry.id.index()).ok(),
        links: None,
    })
}
