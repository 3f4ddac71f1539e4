//! The staged directories of a new sandbox: their image, and a place for their changes on the upper disk.

use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use fstree::{Inode, InodeId, Metadata, Name, ReadAt, Tree};
use staged_image::{Listing, Source, list};

use super::{CreateError, Sandbox, SandboxPaths, UpperPool, upper};
use crate::Home;
use crate::mounts::{self, MountError};

/// The directory of the upper disk that is a native root, or has the changes of an overlay.
const UPPER: &[u8] = b"upper";
/// The directory of the upper disk that has one for each staged directory, by its number.
const STAGED: &[u8] = b"staged";
/// Offset of `s_uuid` in an ext4 filesystem: the superblock is at byte 1024 (fs/ext4/ext4.h).
const EXT4_UUID_OFFSET_BYTES: u64 = 1024 + 0x68;

impl Sandbox {
    /// Gives the sandbox the image of its staged directories, which is written unless another sandbox has the
    /// same one. Returns the metadata of the directories, in the order of their numbers.
    pub(super) fn stage(&mut self, home: &Home) -> Result<Vec<Metadata>, CreateError> {
        let count = mounts::staged(&self.spec.mounts).count();
        if count == 0 {
            return Ok(Vec::new());
        }
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
        let mut rules = Vec::new();
        for (mount, staged) in mounts::staged(&self.spec.mounts) {
            mount.check_staged()?;
            rules.push((staged, staged.all_rules().map_err(MountError::from)?));
        }
        let sources = rules.iter().map(|(staged, rules)| Source {
            directory: &staged.directory,
            rules,
        });
        let sources: Vec<Source<'_>> = sources.collect();
        Ok(list(&sources).map_err(staged_image::StoreError::from)?)
    }

    /// Returns the UUID of an upper disk that belongs to an image of staged directories.
    ///
    /// # Errors
    /// If the image cannot be read.
    pub fn staged_uuid(&self, image: &Path) -> io::Result<[u8; 16]> {
        let image = fs::File::open(image)?.into_parts().0;
        let image = erofs_writer::Image::open(image).map_err(io::Error::other)?;
        let image = hex::encode(image.superblock().uuid);
        Ok(upper::seed(&self.spec, &format!("uuid over {image}")))
    }
}

/// Gives a stopped sandbox the image of staged directories that its disk belongs to, if a process that was
/// killed left two of them.
///
/// # Errors
/// If the disk or an image cannot be read, or the directory cannot be changed.
pub fn settle_staged(sandbox: &Sandbox) -> io::Result<()> {
    let new = sandbox.files.new_staged();
    if !fs::exists(&new)? {
        return Ok(());
    }
    if is_of_new(sandbox)? {
        fs::rename(&new, sandbox.files.staged())?;
        // They belong to the old image, and the new one has what the rules let in.
        remove_let_in(&sandbox.files)?;
    }
    // A rename of one name of a file to another one does nothing.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    durable_files::sync_directory(&sandbox.files.directory)
}

/// Returns the path of the image of staged directories that the disk of a stopped sandbox belongs to.
///
/// # Errors
/// If the disk or an image cannot be read.
pub fn current_staged(sandbox: &Sandbox) -> io::Result<PathBuf> {
    if fs::exists(sandbox.files.new_staged())? && is_of_new(sandbox)? {
        return Ok(sandbox.files.new_staged());
    }
    Ok(sandbox.files.staged())
}

/// Returns true if the upper disk belongs to the image that is not in its place yet.
fn is_of_new(sandbox: &Sandbox) -> io::Result<bool> {
    let expected = sandbox.staged_uuid(&sandbox.files.new_staged())?;
    let mut uuid = [0; 16];
    match UpperPool::find(&sandbox.files)? {
        Some(pool) => {
            let disk = pool.read().map_err(io::Error::other)?;
            disk.read_exact_at(&mut uuid, EXT4_UUID_OFFSET_BYTES)?;
        }
        None => {
            let disk = fs::File::open(sandbox.files.upper())?.into_parts().0;
            ReadAt::read_exact_at(&disk, &mut uuid, EXT4_UUID_OFFSET_BYTES)?;
        }
    }
    Ok(uuid == expected)
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

/// Gives a new sandbox the image of the staged directories of another one, under a second name. `from` is the
/// path of the other's; nothing happens if it does not exist.
///
/// # Errors
/// If the file cannot get the name.
pub fn share_staged(from: &Path, files: &SandboxPaths) -> io::Result<()> {
    match fs::hard_link(from, files.staged()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        linked => linked,
    }
}

/// Removes all images of a sandbox, whose directories were staged anew.
///
/// # Errors
/// If they cannot be removed.
fn remove_let_in(files: &SandboxPaths) -> io::Result<()> {
    match fs::remove_dir_all(files.let_in()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
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
