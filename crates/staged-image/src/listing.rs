use std::fs::File;
use std::path::PathBuf;
use std::thread::sleep;

use fstree::{FileKind, Tree};

use crate::found::Content;
use crate::left_out::last;
use crate::walk::walk;
use crate::{Key, Notices, Source, StageError};

/// The number of times that directories are listed until their last change is long enough ago.
const TRIES: u32 = 3;
/// Maximum number of names in all sources, without those in hidden and denied directories. A file takes about
/// 300 bytes of memory.
const NAMES_MAX: usize = 2_000_000;

/// The files of directories that are staged together, without their content.
#[derive(Debug)]
pub struct Listing {
    pub(crate) directories: Vec<PathBuf>,
    /// A directory for each source, named by its number.
    pub(crate) tree: Tree<Content>,
    pub(crate) key: Key,
    /// The notices for the user who stages the directories.
    pub notices: Notices,
}

/// Lists the files of directories. No file is read.
///
/// A change of the last moment may not show in a file's times. If there is one, the directories are listed
/// again a moment later.
///
/// # Errors
/// If a directory cannot be opened or listed, and if it has too many files.
pub fn list(sources: &[Source<'_>]) -> Result<Listing, StageError> {
    let mut tries = 1;
    loop {
        let walked = walk(sources, NAMES_MAX)?;
        let rest = walked.newest.and_then(|stamp| stamp.time_to_rest());
        match rest {
            Some(rest) if tries < TRIES => sleep(rest),
            _ => {
                let key = Key(*walked.digest.finalize().as_bytes());
                return Ok(Listing {
                    directories: sources
                        .iter()
                        .map(|source| source.directory.to_owned())
                        .collect(),
                    tree: walked.tree,
                    key,
                    notices: walked.notices,
                });
            }
        }
        tries += 1;
    }
}

impl Listing {
    /// Returns the key.
    pub const fn key(&self) -> Key {
        self.key
    }

    /// Returns all files: the number of the source, the path below it, and true for a directory. Parents come
    /// before children.
    pub fn files(&self) -> impl Iterator<Item = (usize, Vec<u8>, bool)> {
        self.tree.walk().filter_map(|entry| {
            let is_directory = self.tree.directory(entry.id).is_some();
            let (source, path) = split(&entry.path)?;
            Some((source, path.to_vec(), is_directory))
        })
    }

    /// Returns the metadata of a regular file, and its size in bytes; `None` if none is listed there.
    pub fn regular_file(&self, source: usize, path: &[u8]) -> Option<(&fstree::Metadata, u64)> {
        let id = self
            .tree
            .find(&[source.to_string().as_bytes(), b"/", path].concat())?;
        let inode = self.tree.inode(id);
        match &inode.kind {
            FileKind::Regular(Content::Denied) => Some((&inode.metadata, 0)),
            FileKind::Regular(Content::Host(found)) => {
                Some((&inode.metadata, found.stamp.size_bytes))
            }
            _ => None,
        }
    }

    /// Removes the files for which `keep` returns false, by the number of their source and the path below it. A
    /// directory stays if a file in it does.
    pub fn retain(&mut self, mut keep: impl FnMut(usize, &[u8]) -> bool) {
        let names = self.tree.walk();
        let mut names: Vec<_> = names
            .map(|entry| (entry.parent, entry.id, entry.path))
            .collect();
        while let Some((parent, id, path)) = names.pop() {
            let has_files = self
                .tree
                .directory(id)
                .is_some_and(|names| !names.is_empty());
            let is_removed = split(&path).is_some_and(|(source, path)| !keep(source, path));
            if is_removed && !has_files {
                self.tree.unlink(parent, last(&path));
            }
        }
    }

    /// Reads all files, and writes an image that other listings with the same key do not share.
    ///
    /// # Errors
    /// If a file of the host cannot be read or does not stop changing, or the image cannot be written.
    pub fn write_to(&mut self, output: File) -> Result<(), StageError> {
        self.write(output)
    }

    /// Returns the metadata of a source's directory.
    pub fn root_metadata(&self, source: usize) -> Option<&fstree::Metadata> {
        let id = self.tree.find(source.to_string().as_bytes())?;
        Some(&self.tree.inode(id).metadata)
    }
}

/// Splits a path of the tree into the number of the source and the path below it; `None` for the root and the
/// sources themselves.
fn split(path: &[u8]) -> Option<(usize, &[u8])> {
    let slash = path.iter().position(|&byte| byte == b'/')?;
    let (source, path) = path.split_at(slash);
    Some((
        std::str::from_utf8(source).ok()?.parse().ok()?,
        path.get(1..)?,
    ))
}
