//! The staged directories of a new sandbox: their image, and a place for their changes on the upper disk.

use std::io;
use std::path::PathBuf;

use fs_err as fs;
use fstree::{Inode, InodeId, Metadata, Name, Tree};
use generations::State;
use staged_image::{Listing, Source, list};

use super::{CreateError, Sandbox, SandboxPaths, UpperPool};
use crate::Home;
use crate::mounts::{self, MountError};

/// The directory of the upper disk that is a native root, or has the changes of an overlay.
const UPPER: &[u8] = b"upper";
/// The directory of the upper disk that has one for each staged directory, by its number.
const STAGED: &[u8] = b"staged";

impl Sandbox {
    /// Gives the sandbox the image of its staged directories, which is written unless another sandbox has the
    /// same one. Returns the metadata of the directories, in the order of their numbers.
    pub(super) fn stage(&mut self, home: &Home) -> Result<Vec<Metadata>, CreateError> {
        let mut all = mounts::staged(&self.spec.mounts);
        // An imported sandbox gets its image from the archive.
        if all.all(|(_, staged)| staged.directory.is_none()) {
            return Ok(Vec::new());
        }
        let count = mounts::staged(&self.spec.mounts).count();
        let mut listing = self.list_staged()?;
        home.staged_images()
            .stage(&mut listing, &self.files.staged())?;
        let roots = (0..count).filter_map(|source| listing.root_metadata(source).cloned());
        let roots = roots.collect();
        self.staging = Some(Box::new(listing.notices));
        Ok(roots)
    }

    /// Lists the files of the staged directories on the host.
    ///
    /// # Errors
    /// If a directory cannot be read, or has too many files or rules.
    pub fn list_staged(&self) -> Result<Listing, CreateError> {
        let mut found = Vec::new();
        for (mount, staged) in mounts::staged(&self.spec.mounts) {
            let rules = staged.all_rules().map_err(MountError::from)?;
            found.push((staged.source(&mount.target)?, rules));
        }
        let sources = found
            .iter()
            .map(|(directory, rules)| Source { directory, rules });
        let sources: Vec<Source<'_>> = sources.collect();
        Ok(list(&sources).map_err(staged_image::StoreError::from)?)
    }
}

/// Returns the path of the image of staged directories that the disk of a sandbox lies over, running or not.
///
/// # Errors
/// If the disk's list of generations cannot be read.
pub fn current_staged(files: &SandboxPaths) -> io::Result<PathBuf> {
    let state = UpperPool::existing(files)?.state();
    staged_below(files, &state.map_err(io::Error::other)?)
}

/// Returns the path of the image of staged directories that a state of a sandbox's disk lies over. Directories that
/// are staged anew get a new disk, so the oldest generation of a state tells which image that is.
///
/// # Errors
/// If the sandbox's directory cannot be read.
pub fn staged_below(files: &SandboxPaths, state: &State) -> io::Result<PathBuf> {
    if let Some(oldest) = state.generations.first() {
        let layer = files.layer(*oldest);
        if fs::exists(&layer)? {
            return Ok(layer);
        }
    }
    Ok(files.staged())
}

/// Returns the tree of an upper disk that has the files of a native root. The root is a directory of the disk, so
/// that what lies beside it is no file of the sandbox.
pub fn with_native_root<C>(mut root: Tree<C>) -> Tree<C> {
    let top = root.root();
    let above = Inode::directory(Metadata::directory(0o755));
    let shown = std::mem::replace(root.inode_mut(top), above);
    let shown = root.add(shown);
    root.link(top, plain(UPPER), shown);
    root
}

/// Adds to the tree of an upper disk a place for the changes of each staged directory: `staged/N/upper`, which
/// is made by `upper`, and `staged/N/work`.
pub fn add_staged<C>(
    tree: &mut Tree<C>,
    count: usize,
    mut upper: impl FnMut(usize, &mut Tree<C>) -> InodeId,
) {
    if count == 0 {
        return;
    }
    let root = tree.root();
    let all = add_directory(tree, root, STAGED, Metadata::directory(0o755));
    for number in 0..count {
        let name = number.to_string();
        let one = add_directory(tree, all, name.as_bytes(), Metadata::directory(0o755));
        let made = upper(number, tree);
        tree.link(one, plain(UPPER), made);
        add_directory(tree, one, b"work", Metadata::directory(0o700));
    }
}

fn add_directory<C>(
    tree: &mut Tree<C>,
    parent: InodeId,
    name: &[u8],
    metadata: Metadata,
) -> InodeId {
    let id = tree.add(Inode::directory(metadata));
    tree.link(parent, plain(name), id);
    id
}

fn plain(name: &[u8]) -> Name {
    Name::new(name).expect("a plain word")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_staged_directories_lie_beside_a_native_root() {
        let mut root: Tree<Vec<u8>> = Tree::new(Metadata::directory(0o1755));
        let file = root.add(Inode::directory(Metadata::directory(0o700)));
        let top = root.root();
        root.link(top, plain(b"srv"), file);
        let mut disk = with_native_root(root);
        add_staged(&mut disk, 2, |number, tree| {
            let mode = 0o701 + u16::try_from(number).expect("small");
            tree.add(Inode::directory(Metadata::directory(mode)))
        });
        let mode = |path: &str| {
            let found = disk.find(path.as_bytes());
            found.map(|id| disk.inode(id).metadata.mode)
        };
        for (path, expected) in [
            ("", Some(0o755)),
            ("upper", Some(0o1755)),
            ("upper/srv", Some(0o700)),
            ("staged/0/upper", Some(0o701)),
            ("staged/1/upper", Some(0o702)),
            ("staged/1/work", Some(0o700)),
            ("srv", None),
            ("upper/staged", None),
            ("upper/upper", None),
        ] {
            assert_eq!(mode(path), expected, "{path}");
        }
    }
}
