//! Trees of a test, and their comparison.

use fstree::{FileKind, InodeId, Metadata, Name, Tree, TreeBuilder};
use tree_diff::{Change, InMemory, Scope, Unrelated, compare};

pub(crate) type Files = Tree<Vec<u8>>;

pub(crate) fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

/// Returns a tree of regular files with these contents. A path that ends with a slash is a
/// directory; a content that begins with `->` is a symlink's target.
pub(crate) fn tree(files: &[(&str, &str)]) -> Files {
    let mut builder = TreeBuilder::new(Metadata::directory(0o755));
    for (path, content) in files {
        let metadata = Metadata::with_mode(0o644);
        let added = match content.strip_prefix("->") {
            Some(target) => builder.symlink(path, metadata, target),
            None if path.ends_with('/') => builder.directory(path, Metadata::directory(0o755)),
            None => builder.file(path, metadata, content.as_bytes().to_vec()),
        };
        added.expect("a path");
    }
    builder.finish()
}

pub(crate) fn find(tree: &Files, path: &str) -> InodeId {
    tree.find(path.as_bytes()).expect("there")
}

pub(crate) fn set(tree: &mut Files, path: &str, content: &str) {
    let id = find(tree, path);
    tree.inode_mut(id).kind = FileKind::Regular(content.into());
}

pub(crate) fn changes(old: &Files, new: &Files, scope: &Scope) -> Vec<Change> {
    let (old, new) = (InMemory(old.clone()), InMemory(new.clone()));
    compare(&old, &new, &Unrelated, scope).expect("compared")
}

/// Returns the changes as `docker diff` prints them, with the changed properties and other names.
pub(crate) fn lines(old: &Files, new: &Files) -> Vec<String> {
    let line = |change: &Change| {
        let mut line = change.to_string();
        if let tree_diff::ChangeKind::Changed(differences) = change.kind {
            let names: Vec<_> = differences.names().collect();
            line += &format!(" {}", names.join(","));
        }
        if let Some(path) = &change.hard_link {
            line += &format!(" = {}", path.escape_ascii());
        }
        if change.is_implied {
            line += " (implied)";
        }
        line
    };
    let changes = changes(old, new, &Scope::everything());
    changes.iter().map(line).collect()
}
