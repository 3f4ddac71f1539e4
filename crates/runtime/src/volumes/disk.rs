use std::path::Path;

use ext4_writer::Options;
use fstree::{FileKind, Inode, Metadata, Name, Tree};

use super::VolumeError;
use durable_files::random;

/// The directory of the disk that sandboxes see.
const DATA: &str = "data";
/// A file that marks a volume that no sandbox has mounted with write access yet.
const FRESH: &str = "fresh";

/// Writes an empty volume's disk at `path` and syncs it. The caller syncs the directory.
pub(crate) fn write(path: &Path, size_bytes: u64) -> Result<(), VolumeError> {
    let io_error = |source| VolumeError::Io {
        action: "write",
        path: path.to_owned(),
        source,
    };
    let options = Options {
        size_bytes,
        uuid: random().map_err(io_error)?,
        hash_seed: random().map_err(io_error)?,
        label: "msb-volume".to_owned(),
        ..Options::default()
    };
    let file = durable_files::create_new(path).map_err(io_error)?;
    ext4_writer::write(&tree(), &options, file.file())
        .map_err(|source| VolumeError::Layout { size_bytes, source })?;
    file.sync_all().map_err(io_error)
}

fn tree() -> Tree<Vec<u8>> {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let root = tree.root();
    let data = tree.add(Inode::directory(Metadata::directory(0o755)));
    tree.link(root, name(DATA), data);
    let fresh = tree.add(Inode {
        metadata: Metadata::with_mode(0o600),
        kind: FileKind::Regular(Vec::new()),
    });
    tree.link(root, name(FRESH), fresh);
    tree
}

fn name(word: &str) -> Name {
    Name::new(word.as_bytes()).expect("a plain word")
}
