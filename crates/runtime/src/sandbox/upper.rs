use std::io;
use std::path::PathBuf;

use erofs_writer::Image;
use ext4_writer::Options;
use fs_err as fs;
use fstree::{Inode, Metadata, Name, Tree};
use image_store::StoredImage;
use sha2::{Digest as _, Sha256};

use super::spec::{Files, Spec};

/// Why an upper disk was not written.
#[derive(Debug, thiserror::Error)]
pub enum UpperError {
    /// The host side of writing it.
    #[error("cannot write the upper disk")]
    Io(#[source] io::Error),
    /// The image's metadata does not say what its root looks like.
    #[error("cannot read the image's root directory in {}", path.display())]
    Image {
        /// The image's metadata.
        path: PathBuf,
        /// Why not.
        #[source]
        source: erofs_writer::ReadError,
    },
    /// The image's metadata is no EROFS.
    #[error("cannot open the image's metadata {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: erofs_writer::OpenError,
    },
    /// No such ext4 can be made.
    #[error("cannot lay out {} as an ext4 of {size_bytes} bytes", path.display())]
    Layout {
        /// The file.
        path: PathBuf,
        /// The size asked for.
        size_bytes: u64,
        /// Why not.
        #[source]
        source: ext4_writer::WriteError,
    },
}

/// Writes the sandbox's upper disk: an ext4 with `upper/` and `work/`, not much else.
///
/// Overlayfs shows the upper directory's own mode, owner and xattrs as those of `/`, so they are
/// copied from the image's root.
pub(crate) fn write(files: &Files, spec: &Spec, image: &StoredImage) -> Result<(), UpperError> {
    let fsmeta = fs::File::open(&image.fsmeta).map_err(UpperError::Io)?;
    let root = Image::open(fsmeta.into_parts().0)
        .map_err(|source| UpperError::Open {
            path: image.fsmeta.clone(),
            source,
        })?
        .root_metadata()
        .map_err(|source| UpperError::Image {
            path: image.fsmeta.clone(),
            source,
        })?;
    let options = Options {
        size_bytes: spec.upper_bytes,
        uuid: seed(spec, "uuid"),
        hash_seed: seed(spec, "hash seed"),
        label: "msb-upper".to_owned(),
        ..Options::default()
    };
    let file = fs::File::create_new(files.upper()).map_err(UpperError::Io)?;
    ext4_writer::write(&tree(root), &options, file.file()).map_err(|source| {
        UpperError::Layout {
            path: files.upper(),
            size_bytes: spec.upper_bytes,
            source,
        }
    })?;
    file.sync_all().map_err(UpperError::Io)
}

/// Makes the disk as large as the description says, which the guest's agent then sees. It never
/// becomes smaller.
pub(crate) fn grow(files: &Files, spec: &Spec) -> io::Result<()> {
    let file = fs::File::options().write(true).open(files.upper())?;
    if file.metadata()?.len() < spec.upper_bytes {
        file.set_len(spec.upper_bytes)?;
        file.sync_all()?;
    }
    Ok(())
}

fn tree(mut root: Metadata) -> Tree<Vec<u8>> {
    // An ACL on the root alone would only apply where nothing else has one: the guest's ext4 is
    // built without them.
    root.xattrs.retain(|name, _| !name.starts_with(b"system."));
    let mut tree = Tree::new(Metadata::directory(0o755));
    for (name, metadata) in [("upper", root), ("work", Metadata::directory(0o700))] {
        let directory = tree.add(Inode::directory(metadata));
        let parent = tree.root();
        tree.link(
            parent,
            Name::new(name.as_bytes()).expect("a plain word"),
            directory,
        );
    }
    tree
}

/// Sixteen bytes that only this sandbox has, for this purpose.
fn seed(spec: &Spec, purpose: &str) -> [u8; 16] {
    let digest = Sha256::digest(format!("{purpose} of sandbox {}", spec.id));
    *digest.first_chunk().expect("SHA-256 has 32 bytes")
}
