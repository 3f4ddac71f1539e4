//! The new tree, made of the old one and the changes.

use std::collections::BTreeMap;

use fstree::{FileKind, Inode, InodeId, Metadata};
use tree_diff::{Change, ChangeKind};

use crate::trees::Files;

/// A file without its names.
type File = (Metadata, FileKind<Vec<u8>>);

/// Files by path, each with the number of the group of names that it belongs to.
type Paths = BTreeMap<Vec<u8>, (File, usize)>;

fn file(inode: &Inode<Vec<u8>>) -> File {
    let kind = match &inode.kind {
        FileKind::Directory(_) => FileKind::Directory(Default::default()),
        other => other.clone(),
    };
    (inode.metadata.clone(), kind)
}

fn path(path: &[u8]) -> Vec<u8> {
    [b"/", path].concat()
}

fn paths(tree: &Files) -> Paths {
    tree.walk()
        .map(|entry| (path(&entry.path), (file(entry.inode), entry.id.index())))
        .collect()
}

/// Returns the files by path, each with the first name of its group.
fn grouped(paths: &Paths) -> BTreeMap<Vec<u8>, (File, Vec<u8>)> {
    let mut firsts = BTreeMap::new();
    for (path, (_, group)) in paths {
        firsts.entry(*group).or_insert(path.clone());
    }
    paths
        .iter()
        .map(|(path, (file, group))| (path.clone(), (file.clone(), firsts[group].clone())))
        .collect()
}

/// Makes the changes to the paths of the old tree. Files of the new tree come from it, groups of
/// hard links from the changes alone.
fn apply(old: &Files, new: &Files, changes: &[Change]) -> Paths {
    let mut paths = paths(old);
    let added = |id: Option<InodeId>| file(new.inode(id.expect("it has a new file")));
    for change in changes.iter().filter(|change| !change.is_implied) {
        if change.new.is_none_or(|id| new.directory(id).is_none()) {
            let below = [&change.path[..], b"/"].concat();
            paths.retain(|path, _| *path != change.path && !path.starts_with(&below));
        }
    }
    let mut next_group = old.len();
    for change in changes {
        if change.kind != ChangeKind::Deleted && change.hard_link.is_none() {
            paths.insert(change.path.clone(), (added(change.new), next_group));
            next_group += 1;
        }
    }
    for change in changes {
        if let Some(link) = &change.hard_link {
            let group = paths.get(&link[..]).expect("the other name is there").1;
            paths.insert(change.path.clone(), (added(change.new), group));
        }
    }
    paths
}

/// Asserts that the changes make the new tree of the old one, and that none is superfluous.
pub(crate) fn assert_rebuilt(old: &Files, new: &Files, changes: &[Change]) {
    assert_eq!(grouped(&apply(old, new, changes)), grouped(&paths(new)));
    for change in changes {
        let (there, now) = (old.find(&change.path), new.find(&change.path));
        assert_eq!((change.old, change.new), (there, now), "{change}");
        match change.kind {
            ChangeKind::Changed(differences) => assert!(!differences.is_empty(), "{change}"),
            ChangeKind::Added => assert!(there.is_none() && now.is_some(), "{change}"),
            ChangeKind::Deleted => assert!(there.is_some() && now.is_none(), "{change}"),
        }
        let above = change
            .path
            .iter()
            .rposition(|&byte| byte == b'/')
            .unwrap_or(0);
        let parent = new.find(&change.path[..above]);
        let is_kept = parent.is_some_and(|parent| new.directory(parent).is_some());
        let is_implied = change.kind == ChangeKind::Deleted && !is_kept;
        assert_eq!(change.is_implied, is_implied, "{change}");
    }
}
