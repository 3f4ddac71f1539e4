use std::convert::Infallible;
use std::io;
use std::path::PathBuf;

use erofs_writer::Image;
use ext4_writer::{Layout, Options, WriteError};
use fs_err as fs;
use fstree::{FileKind, Inode, InodeId, Metadata, Name, Tree};
use generations::SECTOR_BYTES;
use image_store::StoredImage;
use msb_patches::{NewFile, OwnMounts, PatchError, Patched, Patches};
use msb_vmm::{Disk, DiskAccess, DiskFormat};
use sha2::{Digest as _, Sha256};

use super::{
    AdoptError, NewDisk, Sandbox, SandboxPaths, Spec, UPPER_SERIAL, UpperPool, add_staged, base,
    with_native_root,
};
use crate::Home;
use crate::native_root::{self, NativeFile, NativeRootError};

/// The file of the upper disk that has extra lines for `/etc/hosts`.
const HOSTS: &str = "hosts";

/// A failure to write an upper disk.
#[derive(Debug, thiserror::Error)]
pub enum UpperError {
    /// A file of the host cannot be opened or written.
    #[error("cannot write the upper disk")]
    Io(#[source] io::Error),
    /// The image's metadata cannot be read.
    #[error("cannot read the image's files in {}", path.display())]
    Image {
        /// The file of the image's metadata.
        path: PathBuf,
        /// The error of the EROFS reader.
        #[source]
        source: erofs_writer::ReadError,
    },
    /// The image's metadata is not an EROFS image.
    #[error("cannot open the image's metadata {}", path.display())]
    Open {
        /// The file of the image's metadata.
        path: PathBuf,
        /// The error of the EROFS reader.
        #[source]
        source: erofs_writer::OpenError,
    },
    /// The disk cannot be made or written.
    #[error("cannot write the upper disk")]
    Disk(#[from] AdoptError),
    /// A change to the image's files cannot be made.
    #[error("cannot apply the changes to the image's files")]
    Patch(#[from] PatchError),
    /// The disk of a native root cannot be made.
    #[error("cannot make a native root")]
    Native(#[from] NativeRootError),
    /// The disk cannot be laid out as ext4.
    #[error("cannot create {} as an ext4 filesystem of {size_bytes} bytes", path.display())]
    Layout {
        /// The upper disk.
        path: PathBuf,
        /// The requested size, in bytes.
        size_bytes: u64,
        /// The error of the ext4 writer.
        #[source]
        source: ext4_writer::WriteError,
    },
}

/// Writes the sandbox's upper disk: an ext4 with `upper/` and `work/`.
/// It also holds a directory for each staged one, whose metadata is `staged`, and `hosts` if the sandbox has extra lines for `/etc/hosts`.
///
/// Overlayfs shows the upper directory's own mode, owner and xattrs as those of `/`, so they are
/// copied from the image's root.
pub(crate) fn write(
    files: &SandboxPaths,
    spec: &Spec,
    image: &StoredImage,
    patches: &Patches,
    staged: &[Metadata],
) -> Result<(), UpperError> {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let (upper, needed_bytes) = if patches.change_no_file() {
        let root = read_image(image, Image::root_metadata)?;
        (tree.add(Inode::directory(rootfs_view::stored(&root))), 0)
    } else {
        patched(spec, image, patches, &mut tree)?
    };
    let work = tree.add(Inode::directory(Metadata::directory(0o700)));
    let mut made = vec![("upper", upper), ("work", work)];
    if let Some(hosts) = added_hosts(patches) {
        made.push((HOSTS, tree.add(file(hosts))));
    }
    for (name, id) in made {
        let parent = tree.root();
        let name = Name::new(name.as_bytes()).expect("a plain word");
        tree.link(parent, name, id);
    }
    add_staged(&mut tree, staged.len(), |number, tree| {
        tree.add(Inode::directory(rootfs_view::stored(&staged[number])))
    });
    match write_disk(files, spec, &tree, !patches.change_no_file()) {
        Err(UpperError::Layout {
            source: WriteError::Full { what: "blocks", .. },
            ..
        }) => Err(too_large(needed_bytes, spec)),
        outcome => outcome,
    }
}

/// Writes the disk of a sandbox with a native root, and beside that what [`write`] adds to an overlay.
pub(crate) fn write_native(
    home: &Home,
    sandbox: &Sandbox,
    image: &StoredImage,
    patches: &Patches,
    staged: &[Metadata],
) -> Result<(), UpperError> {
    let tree = read_image(image, Image::read_tree)?;
    let root = native_root::files(tree, &sandbox.spec, patches)?;
    let mut tree = with_native_root(root);
    if let Some(hosts) = added_hosts(patches) {
        let (top, hosts) = (tree.root(), tree.add(file(NativeFile::New(hosts))));
        let name = Name::new(HOSTS.as_bytes()).expect("a plain word");
        tree.link(top, name, hosts);
    }
    add_staged(&mut tree, staged.len(), |number, tree| {
        tree.add(Inode::directory(rootfs_view::stored(&staged[number])))
    });
    native_root::write(home, sandbox, image, &tree)
}

fn too_large(needed_bytes: u64, spec: &Spec) -> UpperError {
    UpperError::Patch(PatchError::TooLarge {
        needed_bytes,
        upper_bytes: spec.upper_bytes,
    })
}

/// Writes the disk, and keeps a copy of it if `keeps_base`.
fn write_disk(
    files: &SandboxPaths,
    spec: &Spec,
    tree: &Tree<NewFile>,
    keeps_base: bool,
) -> Result<(), UpperError> {
    let size_bytes = spec.upper_bytes;
    let options = upper_options(spec, size_bytes);
    let layout_error = |source| UpperError::Layout {
        path: files.generations(),
        size_bytes,
        source,
    };
    let layout = Layout::new(tree, &options).map_err(layout_error)?;
    // A sandbox that is removed when it stops needs no sync: a sweep removes it after a power cut.
    let is_durable = !spec.remove_when_stopped;
    UpperPool::create(files, size_bytes, is_durable, |disk| {
        let head = files.generation(disk.head_id());
        layout.write(NewDisk(disk)).map_err(layout_error)?;
        if keeps_base {
            base::keep(files, &head, is_durable).map_err(UpperError::Io)?;
        }
        Ok(())
    })
}

/// Returns the mounts that the sandbox's machine has in addition to those of every machine.
pub(crate) const fn own_mounts(spec: &Spec) -> OwnMounts {
    OwnMounts {
        network: spec.network.is_some(),
        tmp: spec.guest.tmp.is_some(),
    }
}

/// Returns the size that an upper disk of the wanted size has: whole sectors.
pub(crate) const fn size_bytes(wanted_bytes: u64) -> u64 {
    wanted_bytes
        .div_ceil(SECTOR_BYTES)
        .saturating_mul(SECTOR_BYTES)
}

/// Returns the parameters of a sandbox's upper disk.
pub fn upper_options(spec: &Spec, size_bytes: u64) -> Options {
    Options {
        size_bytes,
        uuid: seed(spec, "uuid"),
        hash_seed: seed(spec, "hash seed"),
        label: "msb-upper".to_owned(),
        ..Options::default()
    }
}

/// Returns the upper disk as a VMM gets it: the VMM process serves it.
pub(crate) fn disk(files: &SandboxPaths) -> Disk {
    Disk {
        path: files.generations(),
        format: DiskFormat::Served,
        access: DiskAccess::ReadWrite,
        serial: UPPER_SERIAL.to_owned(),
    }
}

/// Enlarges the disk to the size in the description. It never becomes smaller.
/// The guest's agent notices the new size.
pub(crate) fn grow(files: &SandboxPaths, spec: &Spec) -> io::Result<()> {
    let pool = UpperPool::adopt(files).map_err(io::Error::other)?;
    let size_bytes = pool.size_bytes().map_err(io::Error::other)?;
    if size_bytes < spec.upper_bytes {
        let mut disk = pool.open().map_err(io::Error::other)?;
        disk.grow(spec.upper_bytes).map_err(io::Error::other)?;
        disk.flush().map_err(io::Error::other)?;
    }
    Ok(())
}

/// Adds the directory `upper` with all changes to the disk's tree.
/// Returns it, and the bytes that the files in it take.
fn patched(
    spec: &Spec,
    image: &StoredImage,
    patches: &Patches,
    tree: &mut Tree<NewFile>,
) -> Result<(InodeId, u64), UpperError> {
    let below = read_image(image, Image::read_tree)?;
    let Ok(wanted) = below
        .clone()
        .try_map(|_| Ok::<_, Infallible>(NewFile::Bytes(Vec::new())));
    let patched = Patched::new(wanted, patches, own_mounts(spec), spec.created_s)?;
    if patched.needed_bytes > spec.upper_bytes {
        return Err(too_large(patched.needed_bytes, spec));
    }
    let upper = rootfs_view::layer(&below, &patched.tree, Clone::clone, tree);
    Ok((upper, patched.needed_bytes))
}

/// Opens the image's metadata and reads it with `read`.
fn read_image<T>(
    image: &StoredImage,
    read: impl FnOnce(&Image<std::fs::File>) -> Result<T, erofs_writer::ReadError>,
) -> Result<T, UpperError> {
    let fsmeta = fs::File::open(&image.fsmeta).map_err(UpperError::Io)?;
    let opened = Image::open(fsmeta.into_parts().0).map_err(|source| UpperError::Open {
        path: image.fsmeta.clone(),
        source,
    })?;
    read(&opened).map_err(|source| UpperError::Image {
        path: image.fsmeta.clone(),
        source,
    })
}

/// Returns the extra lines for `/etc/hosts` as a file; `None` if there are none.
fn added_hosts(patches: &Patches) -> Option<NewFile> {
    let lines: String = patches.hosts.iter().map(ToString::to_string).collect();
    (!lines.is_empty()).then(|| NewFile::Bytes(lines.into_bytes()))
}

fn file<C>(content: C) -> Inode<C> {
    Inode {
        metadata: Metadata::with_mode(0o644),
        kind: FileKind::Regular(content),
    }
}

/// Returns 16 bytes that are unique to this sandbox and purpose.
fn seed(spec: &Spec, purpose: &str) -> [u8; 16] {
    let digest = Sha256::digest(format!("{purpose} of sandbox {}", spec.id));
    *digest.first_chunk().expect("SHA-256 has 32 bytes")
}
