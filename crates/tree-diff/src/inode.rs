use fstree::{FileKind, InodeId, Metadata};

use crate::{Differences, Relation, Side, content};

/// Returns the properties in which two inodes differ, except their names.
pub(crate) fn differences<O, N>(
    (old_side, old): (&O, InodeId),
    (new_side, new): (&N, InodeId),
    relation: &impl Relation<O::Content, N::Content>,
) -> Result<Differences, O::Error>
where
    O: Side,
    N: Side<Error = O::Error>,
{
    if relation.is_same_inode(old, new) {
        return Ok(Differences::empty());
    }
    let (one, other) = (old_side.tree().inode(old), new_side.tree().inode(new));
    let mut found = of_metadata(&one.metadata, &other.metadata);
    match (&one.kind, &other.kind) {
        (FileKind::Regular(old), FileKind::Regular(new)) => {
            let is_equal = relation.is_same_content(old, new)
                || content::is_equal((old_side, old), (new_side, new))?;
            found.set(Differences::CONTENT, !is_equal);
        }
        (FileKind::Symlink(old), FileKind::Symlink(new)) => {
            found.set(Differences::TARGET, old != new);
        }
        (FileKind::CharDevice(old), FileKind::CharDevice(new))
        | (FileKind::BlockDevice(old), FileKind::BlockDevice(new)) => {
            found.set(Differences::DEVICE, old != new);
        }
        (one, other) => {
            found.set(Differences::TYPE, one.file_type() != other.file_type());
        }
    }
    Ok(found)
}

fn of_metadata(old: &Metadata, new: &Metadata) -> Differences {
    let mut found = Differences::empty();
    found.set(Differences::MODE, old.mode != new.mode);
    found.set(Differences::OWNER, (old.uid, old.gid) != (new.uid, new.gid));
    found.set(Differences::MTIME, old.mtime != new.mtime);
    found.set(Differences::XATTRS, old.xattrs != new.xattrs);
    found
}
