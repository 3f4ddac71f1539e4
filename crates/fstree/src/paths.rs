use crate::path_error::shown;
use crate::{Directory, FileKind, Inode, InodeId, PathError, Tree};

/// The most symlinks that are followed for one path (`MAXSYMLINKS`, linux/namei.h).
pub const SYMLINKS_MAX: u32 = 40;

/// A path on its way through a tree.
struct Resolution<'a, D> {
    tree: &'a Tree<D>,
    /// The directories from the root to the current one.
    directories: Vec<InodeId>,
    /// The components that are still to be resolved, the next one last.
    pending: Vec<&'a [u8]>,
    symlinks: u32,
}

impl<D> Tree<D> {
    /// Returns the inode at `path`, from the root. Symlinks are followed inside the tree, at most
    /// [`SYMLINKS_MAX`] of them, and `..` of the root is the root.
    ///
    /// # Errors
    /// If a component does not exist, is not a directory, or leads through too many symlinks.
    ///
    /// # Examples
    /// ```
    /// use fstree::{Metadata, Tree, TreeBuilder};
    ///
    /// let mut builder = TreeBuilder::new(Metadata::directory(0o755));
    /// builder.file("usr/lib/os-release", Metadata::with_mode(0o644), b"ID=debian\n")?;
    /// builder.symlink("etc/os-release", Metadata::with_mode(0o777), "../usr/lib/os-release")?;
    /// let tree: Tree<&[u8; 10]> = builder.finish();
    /// assert_eq!(tree.resolve("etc/os-release"), tree.resolve("/usr/lib/os-release"));
    /// assert_eq!(*tree.file("etc/os-release")?, b"ID=debian\n");
    /// # Ok::<(), fstree::PathError>(())
    /// ```
    pub fn resolve(&self, path: impl AsRef<[u8]>) -> Result<InodeId, PathError> {
        Resolution::new(self, path.as_ref()).run(path.as_ref(), true)
    }

    /// Returns the inode at `path` like [`Tree::resolve`], but does not follow a symlink at its
    /// end.
    ///
    /// # Errors
    /// Fails as [`Tree::resolve`] does.
    pub fn resolve_entry(&self, path: impl AsRef<[u8]>) -> Result<InodeId, PathError> {
        Resolution::new(self, path.as_ref()).run(path.as_ref(), false)
    }

    /// Returns the inode at `path` with its attributes, after following symlinks.
    ///
    /// # Errors
    /// Fails as [`Tree::resolve`] does.
    pub fn metadata(&self, path: impl AsRef<[u8]>) -> Result<&Inode<D>, PathError> {
        self.resolve(path).map(|id| self.inode(id))
    }

    /// Returns the inode at `path` with its attributes; of a symlink, its own.
    ///
    /// # Errors
    /// Fails as [`Tree::resolve`] does.
    pub fn symlink_metadata(&self, path: impl AsRef<[u8]>) -> Result<&Inode<D>, PathError> {
        self.resolve_entry(path).map(|id| self.inode(id))
    }

    /// Returns the names in the directory at `path`, in bytewise order.
    ///
    /// # Errors
    /// Fails as [`Tree::resolve`] does, or if the inode is not a directory.
    pub fn read_dir(&self, path: impl AsRef<[u8]>) -> Result<&Directory, PathError> {
        let path = path.as_ref();
        let names = self.directory(self.resolve(path)?);
        names.ok_or_else(|| PathError::NotADirectory { path: shown(path) })
    }

    /// Returns the target of the symlink at `path`.
    ///
    /// # Errors
    /// Fails as [`Tree::resolve`] does, or if the inode is not a symlink.
    pub fn read_link(&self, path: impl AsRef<[u8]>) -> Result<&[u8], PathError> {
        let path = path.as_ref();
        match &self.symlink_metadata(path)?.kind {
            FileKind::Symlink(target) => Ok(target),
            _ => Err(PathError::NotASymlink { path: shown(path) }),
        }
    }

    /// Returns the content of the regular file at `path`.
    ///
    /// # Errors
    /// Fails as [`Tree::resolve`] does, or if the inode is not a regular file.
    pub fn file(&self, path: impl AsRef<[u8]>) -> Result<&D, PathError> {
        let path = path.as_ref();
        match &self.metadata(path)?.kind {
            FileKind::Regular(content) => Ok(content),
            _ => Err(PathError::NotAFile { path: shown(path) }),
        }
    }
}

impl<'a, D> Resolution<'a, D> {
    fn new(tree: &'a Tree<D>, path: &'a [u8]) -> Self {
        let mut resolution = Self {
            tree,
            directories: vec![tree.root()],
            pending: Vec::new(),
            symlinks: 0,
        };
        resolution.push(path);
        resolution
    }

    /// Puts the components of a path before those that are pending.
    fn push(&mut self, path: &'a [u8]) {
        if path.first() == Some(&b'/') {
            self.directories.truncate(1);
        }
        let components = path.split(|&byte| byte == b'/').rev();
        self.pending
            .extend(components.filter(|component| !matches!(*component, b"" | b".")));
    }

    fn run(mut self, path: &[u8], follows_last: bool) -> Result<InodeId, PathError> {
        while let Some(component) = self.pending.pop() {
            let directory = self.current();
            if component == b".." {
                if self.directories.len() > 1 {
                    self.directories.pop();
                }
                continue;
            }
            let found = self.tree.lookup(directory, component);
            let id = found.ok_or_else(|| PathError::NotFound { path: shown(path) })?;
            let is_last = self.pending.is_empty();
            match &self.tree.inode(id).kind {
                FileKind::Directory(_) => self.directories.push(id),
                FileKind::Symlink(target) if follows_last || !is_last => {
                    self.symlinks += 1;
                    if self.symlinks > SYMLINKS_MAX {
                        return Err(PathError::TooManySymlinks {
                            path: shown(path),
                            limit: SYMLINKS_MAX,
                        });
                    }
                    self.push(target);
                }
                _ if is_last => return Ok(id),
                _ => return Err(PathError::NotADirectory { path: shown(path) }),
            }
        }
        Ok(self.current())
    }

    fn current(&self) -> InodeId {
        self.directories.last().copied().unwrap_or(self.tree.root())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Metadata, TreeBuilder};

    use super::*;

    fn tree() -> Tree<u32> {
        let mut builder = TreeBuilder::new(Metadata::directory(0o755));
        let link = Metadata::with_mode(0o777);
        builder
            .file("a/b/file", Metadata::default(), 1)
            .expect("made");
        for (path, target) in [
            ("to-b", "a/b"),
            ("a/up", "../to-b/file"),
            ("absolute", "/a/up"),
            ("loop", "loop"),
            ("away", "../../../a"),
            ("dangling", "nothing"),
        ] {
            builder.symlink(path, link.clone(), target).expect("made");
        }
        builder.finish()
    }

    #[test]
    fn symlinks_and_dots_are_followed_inside_the_tree() {
        let tree = tree();
        for path in [
            "a/b/file",
            "/a//b/./file",
            "to-b/file",
            "a/up",
            "absolute",
            "away/b/file",
            "../a/b/../b/file",
        ] {
            assert_eq!(tree.file(path), Ok(&1), "{path}");
        }
        assert_eq!(tree.read_dir("to-b").map(|names| names.len()), Ok(1));
        assert_eq!(tree.read_link("to-b"), Ok(&b"a/b"[..]));
        assert_eq!(tree.resolve(""), Ok(tree.root()));
    }

    #[test]
    fn an_error_names_the_path_and_the_reason() {
        let tree = tree();
        let text = |path| tree.file(path).expect_err(path).to_string();
        assert_eq!(text("none"), "'none' does not exist");
        assert_eq!(text("dangling"), "'dangling' does not exist");
        assert_eq!(text("a/b/file/x"), "'a/b/file/x' is not a directory");
        assert_eq!(text("a"), "'a' is not a regular file");
        assert_eq!(text("loop"), "'loop' leads through more than 40 symlinks");
        let error = tree.read_link("a").expect_err("a directory").to_string();
        assert_eq!(error, "'a' is not a symlink");
    }
}
