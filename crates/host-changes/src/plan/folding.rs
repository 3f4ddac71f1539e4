//! New names that a directory of the host takes for one with another name, because it ignores case.

use std::collections::{BTreeMap, HashMap};

use fstree::FileKind;
use path_rules::folded;
use rustix::fs::ioctl_getflags;
use tree_diff::Change;

use crate::host_directory::{HostDirectory, split};
use crate::path::relative;
use crate::{ApplyError, HostSource};

/// `FS_CASEFOLD_FL` (include/uapi/linux/fs.h).
const CASEFOLD: u32 = 0x4000_0000;

/// Returns the other name for each path of a new file whose name is one with it on the host: that of another new
/// file, or of one that the sandbox began with. Paths are relative to the directory. `ignores_case` is asked for
/// the directories that have such names.
pub(super) fn collisions<S: HostSource>(
    (old, new): (&S, &S),
    changes: &[Change],
    from: &[u8],
    mut ignores_case: impl FnMut(&[u8]) -> Result<bool, ApplyError>,
) -> Result<HashMap<Vec<u8>, Vec<u8>>, ApplyError> {
    let mut added: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.old.is_none()) {
        let path = relative(&change.path, from).filter(|path| !path.is_empty());
        let is_socket = |id| matches!(new.tree().inode(id).kind, FileKind::Socket);
        if let Some(path) = path.filter(|_| change.new.is_some_and(|id| !is_socket(id))) {
            let (above, name) = split(path);
            added.entry(above).or_default().push(name);
        }
    }
    let mut collisions = HashMap::new();
    for (above, names) in added {
        let found = same_names(&old_names(old, from, above), &names);
        if found.is_empty() || !ignores_case(above)? {
            continue;
        }
        for (name, other) in found {
            let path = if above.is_empty() {
                name.to_vec()
            } else {
                [above, b"/", name].concat()
            };
            collisions.insert(path, other.to_vec());
        }
    }
    Ok(collisions)
}

/// Returns true if a directory of the host ignores case, or if the nearest one above it does that exists: a new
/// directory is as the one that it is in.
///
/// # Errors
/// If a directory cannot be opened.
pub(super) fn ignores_case(directory: &HostDirectory, path: &[u8]) -> Result<bool, ApplyError> {
    let (_, nearest) = directory.open_nearest(path)?;
    let open = directory.open_to_read(nearest)?;
    // A filesystem without flags has no directory with this one.
    let flags = ioctl_getflags(&open).map_or(0, |flags| flags.bits());
    Ok(flags & CASEFOLD != 0)
}

/// Returns the names that the old side has in a directory.
fn old_names<'s, S: HostSource>(old: &'s S, from: &[u8], above: &[u8]) -> Vec<&'s [u8]> {
    let tree = old.tree();
    let directory = tree.find(&[from, b"/", above].concat());
    let names = directory.and_then(|id| tree.directory(id));
    let names = names.into_iter().flat_map(|names| names.iter());
    let shown = names.filter(|(_, id)| !old.is_hidden(**id));
    shown.map(|(name, _)| name.as_bytes()).collect()
}

/// Returns each added name that is one with another if case is ignored, with that one.
fn same_names<'n>(old: &[&'n [u8]], added: &[&'n [u8]]) -> Vec<(&'n [u8], &'n [u8])> {
    let mut known: HashMap<String, &[u8]> = HashMap::new();
    for &name in old {
        known.insert(folded(name), name);
    }
    let mut same = Vec::new();
    for &name in added {
        let other = *known.entry(folded(name)).or_insert(name);
        if other != name {
            same.push((name, other));
        }
    }
    same
}
