//! The changes of a staged directory, written to the disk of a sandbox as its guest would leave them. So no guest
//! has to run for them.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use ext4_writer::Options;
use fstree::{Device, FileKind, Inode, InodeId, Metadata, Name, Timestamp, Tree};

use crate::sandbox::disk_file;

/// Offset of `s_uuid` in an ext4 filesystem: the superblock is at byte 1024 (fs/ext4/ext4.h).
const UUID_OFFSET_BYTES: u64 = 1024 + 0x68;
/// The device number of a file that overlayfs takes for a removal.
const WHITEOUT: Device = Device { major: 0, minor: 0 };

/// Writes the disk of a stopped sandbox anew: the only staged directory has the files below `changed`, and none
/// with the names `removed`.
pub(super) fn write(sandbox: &Path, changed: &Path, removed: &[impl AsRef<Path>]) -> Result<()> {
    let path = disk_file(sandbox)?;
    let old = File::open(&path)?;
    let mut uuid = [0; 16];
    old.read_exact_at(&mut uuid, UUID_OFFSET_BYTES)?;
    let options = Options {
        size_bytes: old.metadata()?.len(),
        uuid,
        label: "msb-upper".to_owned(),
        ..Options::default()
    };
    let mut tree = Tree::new(Metadata::directory(0o755));
    let root = tree.root();
    add_directory(&mut tree, root, "upper", 0o755)?;
    add_directory(&mut tree, root, "work", 0o700)?;
    let staged = add_directory(&mut tree, root, "staged", 0o755)?;
    let first = add_directory(&mut tree, staged, "0", 0o755)?;
    add_directory(&mut tree, first, "work", 0o700)?;
    let upper = add(&mut tree, changed)?;
    tree.link(first, Name::new(b"upper".as_slice())?, upper);
    for path in removed {
        remove(&mut tree, upper, path.as_ref())?;
    }
    let new = path.with_extension("new");
    let file = File::create(&new)?;
    ext4_writer::write(&tree, &options, &file)?;
    file.sync_all()?;
    Ok(fs::rename(new, path)?)
}

fn add_directory(
    tree: &mut Tree<Vec<u8>>,
    parent: InodeId,
    name: &str,
    mode: u16,
) -> Result<InodeId> {
    let id = tree.add(Inode::directory(Metadata::directory(mode)));
    tree.link(parent, Name::new(name.as_bytes())?, id);
    Ok(id)
}

/// Adds a file of the host, and all files below it.
fn add(tree: &mut Tree<Vec<u8>>, path: &Path) -> Result<InodeId> {
    let host = fs::metadata(path)?;
    let metadata = Metadata {
        mode: u16::try_from(host.mode() & 0o7777)?,
        uid: host.uid(),
        gid: host.gid(),
        mtime: Timestamp {
            seconds: host.mtime(),
            nanoseconds: u32::try_from(host.mtime_nsec())?,
        },
        ..Metadata::default()
    };
    if !host.is_dir() {
        let kind = FileKind::Regular(fs::read(path)?);
        return Ok(tree.add(Inode { metadata, kind }));
    }
    let directory = tree.add(Inode::directory(metadata));
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let id = add(tree, &entry.path())?;
        tree.link(directory, Name::new(entry.file_name().as_bytes())?, id);
    }
    Ok(directory)
}

/// Adds the removal of a file, whose directory is in the tree.
fn remove(tree: &mut Tree<Vec<u8>>, upper: InodeId, path: &Path) -> Result<()> {
    let mut parent = upper;
    let above = path.parent().context("the path has a directory")?;
    for name in above {
        let found = tree.lookup(parent, name.as_bytes());
        parent = found.with_context(|| format!("{} has no changed file", above.display()))?;
    }
    let name = path.file_name().context("the path has a name")?;
    let whiteout = tree.add(Inode {
        metadata: Metadata::default(),
        kind: FileKind::CharDevice(WHITEOUT),
    });
    tree.link(parent, Name::new(name.as_bytes())?, whiteout);
    Ok(())
}
