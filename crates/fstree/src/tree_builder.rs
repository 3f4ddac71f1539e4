use crate::path_error::shown;
use crate::{FileKind, Inode, InodeId, Metadata, Name, PathError, Tree};

/// Permission bits of the directories that a path implies.
const IMPLIED_MODE: u16 = 0o755;

/// Makes a tree from paths. The directories above a path are made, if necessary, with the mode
/// 0755, owned by root.
///
/// # Examples
/// ```
/// use fstree::{Metadata, TreeBuilder};
///
/// let mut builder = TreeBuilder::new(Metadata::directory(0o755));
/// builder
///     .directory("tmp", Metadata::directory(0o1777))?
///     .file("etc/hostname", Metadata::with_mode(0o644), b"box\n".to_vec())?
///     .hard_link("etc/hostname.old", "etc/hostname")?;
/// let tree = builder.finish();
/// assert_eq!(tree.read_dir("etc")?.len(), 2);
/// # Ok::<(), fstree::PathError>(())
/// ```
#[derive(Debug, Clone)]
pub struct TreeBuilder<D> {
    tree: Tree<D>,
}

impl<D> TreeBuilder<D> {
    /// Returns a builder of a tree whose root has these attributes.
    #[must_use]
    pub fn new(root: Metadata) -> Self {
        Self {
            tree: Tree::new(root),
        }
    }

    /// Makes a directory, or changes the attributes of one that a longer path has implied.
    ///
    /// # Errors
    /// If the path exists and is no directory, or cannot be made.
    pub fn directory(
        &mut self,
        path: impl AsRef<[u8]>,
        metadata: Metadata,
    ) -> Result<&mut Self, PathError> {
        let path = path.as_ref();
        let id = self.ensure_directory(path)?;
        self.tree.inode_mut(id).metadata = metadata;
        Ok(self)
    }

    /// Makes a regular file with this content.
    ///
    /// # Errors
    /// If the path exists, or cannot be made.
    pub fn file(
        &mut self,
        path: impl AsRef<[u8]>,
        metadata: Metadata,
        content: D,
    ) -> Result<&mut Self, PathError> {
        self.add(path, metadata, FileKind::Regular(content))
    }

    /// Makes a symlink to `target`, which is not checked.
    ///
    /// # Errors
    /// If the path exists, or cannot be made.
    pub fn symlink(
        &mut self,
        path: impl AsRef<[u8]>,
        metadata: Metadata,
        target: impl AsRef<[u8]>,
    ) -> Result<&mut Self, PathError> {
        self.add(path, metadata, FileKind::Symlink(target.as_ref().into()))
    }

    /// Makes an inode of any kind.
    ///
    /// # Errors
    /// If the path exists, or cannot be made.
    pub fn add(
        &mut self,
        path: impl AsRef<[u8]>,
        metadata: Metadata,
        kind: FileKind<D>,
    ) -> Result<&mut Self, PathError> {
        let path = path.as_ref();
        let (parent, name) = self.place(path)?;
        let id = self.tree.add(Inode { metadata, kind });
        self.tree.link(parent, name, id);
        Ok(self)
    }

    /// Gives the file at `existing` a further name.
    ///
    /// # Errors
    /// If `existing` does not exist or is a directory, or if the path exists or cannot be made.
    pub fn hard_link(
        &mut self,
        path: impl AsRef<[u8]>,
        existing: impl AsRef<[u8]>,
    ) -> Result<&mut Self, PathError> {
        let existing = existing.as_ref();
        let id = self.tree.resolve_entry(existing)?;
        if self.tree.directory(id).is_some() {
            return Err(PathError::NotAFile {
                path: shown(existing),
            });
        }
        let (parent, name) = self.place(path.as_ref())?;
        self.tree.link(parent, name, id);
        Ok(self)
    }

    /// Returns the tree.
    #[must_use]
    pub fn finish(self) -> Tree<D> {
        self.tree
    }

    /// Returns the directory and the name of a path that does not exist yet.
    fn place(&mut self, path: &[u8]) -> Result<(InodeId, Name), PathError> {
        let trimmed = path.strip_suffix(b"/").unwrap_or(path);
        let (above, last) = match trimmed.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => (&trimmed[..slash], &trimmed[slash + 1..]),
            None => (&b""[..], trimmed),
        };
        let name = name(last, path)?;
        let parent = self.ensure_directory(above)?;
        match self.tree.lookup(parent, name.as_bytes()) {
            Some(_) => Err(PathError::Exists { path: shown(path) }),
            None => Ok((parent, name)),
        }
    }

    /// Returns the directory at `path`, which is made if it does not exist.
    fn ensure_directory(&mut self, path: &[u8]) -> Result<InodeId, PathError> {
        let mut directory = self.tree.root();
        let components = path.split(|&byte| byte == b'/');
        for component in components.filter(|component| !component.is_empty()) {
            let name = name(component, path)?;
            directory = match self.tree.lookup(directory, component) {
                Some(id) if self.tree.directory(id).is_some() => id,
                Some(_) => return Err(PathError::NotADirectory { path: shown(path) }),
                None => {
                    let implied = Inode::directory(Metadata::directory(IMPLIED_MODE));
                    let id = self.tree.add(implied);
                    self.tree.link(directory, name, id);
                    id
                }
            };
        }
        Ok(directory)
    }
}

fn name(component: &[u8], path: &[u8]) -> Result<Name, PathError> {
    Name::new(component).map_err(|source| PathError::Name {
        path: shown(path),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_implied_and_then_described() {
        let mut builder = TreeBuilder::new(Metadata::directory(0o755));
        let file = Metadata::with_mode(0o600);
        builder.file("/a/b/c", file.clone(), ()).expect("made");
        builder
            .directory("a/", Metadata::directory(0o700))
            .expect("changed");
        let error = |outcome: Result<&mut TreeBuilder<()>, PathError>| {
            outcome.map(drop).expect_err("refused").to_string()
        };
        assert_eq!(
            error(builder.file("a/b/c", file.clone(), ())),
            "'a/b/c' already exists"
        );
        assert_eq!(
            error(builder.file("a/b/c/d", file.clone(), ())),
            "'a/b/c' is not a directory"
        );
        assert_eq!(
            error(builder.file("a/../b", file, ())),
            "cannot create 'a/..'"
        );
        assert_eq!(
            error(builder.hard_link("x", "a")),
            "'a' is not a regular file"
        );
        let tree = builder.finish();
        assert_eq!(
            tree.metadata("a").map(|inode| inode.metadata.mode),
            Ok(0o700)
        );
        assert_eq!(
            tree.metadata("a/b").map(|inode| inode.metadata.mode),
            Ok(0o755)
        );
        assert_eq!(tree.len(), 4);
    }
}
