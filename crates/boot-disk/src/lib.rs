//! The boot disk, the kernel's root filesystem: the guest agent, packed as EROFS.
//!
//! The libkrunfw kernel accepts no initrd, and an agent inside the image's tree would tie every
//! image to the agent's version. So the agent lies on its own small read-only disk: `/init`, and
//! the empty directories that it uses as mount points.
//!
//! ```
//! let mut disk = std::io::Cursor::new(Vec::new());
//! boot_disk::write(&mut disk)?;
//! let tree = erofs_writer::Image::open(disk.into_inner())?.read_tree()?;
//! assert!(tree.find(b"/init").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use erofs_writer::{ImageOutput, ImageWriter, Options, Summary, WriteError};
use fstree::{FileKind, Inode, Metadata, Name, Tree};
use sha2::{Digest as _, Sha256};

static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/msb-agent"));
static AGENT_DIGEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/msb-agent.sha256"));

/// The mount points of the agent, and of the sandbox's root at the end.
const MOUNT_POINTS: [&str; 9] = [
    "dev", "image", "old", "proc", "root", "shared", "staged", "sys", "upper",
];

/// Returns the identity of this build's boot disk in hexadecimal. It changes with the agent.
pub fn identity() -> String {
    hex::encode(digest())
}

fn digest() -> [u8; 32] {
    let mut hash = Sha256::new();
    for name in MOUNT_POINTS {
        hash.update(name);
    }
    hash.update(AGENT_DIGEST);
    hash.finalize().into()
}

/// Writes the boot disk. The bytes are the same each time.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(out: impl ImageOutput) -> Result<Summary, WriteError> {
    let digest = digest();
    let options = Options {
        uuid: *digest.first_chunk().expect("SHA-256 has 32 bytes"),
        volume_name: "msb-boot".to_owned(),
        devices: Vec::new(),
    };
    let mut writer = ImageWriter::new(out, options)?;
    let size_bytes = AGENT.len() as u64;
    let content = writer
        .append(&mut &*AGENT, size_bytes)?
        .map(|run| run.whole_file(size_bytes));
    let mut tree = Tree::new(Metadata::directory(0o755));
    let root = tree.root();
    let init = Inode {
        metadata: Metadata::with_mode(0o755),
        kind: FileKind::Regular(content.unwrap_or_default()),
    };
    let init = tree.add(init);
    tree.link(root, name("init"), init);
    for mount_point in MOUNT_POINTS {
        let directory = tree.add(Inode::directory(Metadata::directory(0o755)));
        tree.link(root, name(mount_point), directory);
    }
    Ok(writer.finish(&tree)?.1)
}

fn name(word: &str) -> Name {
    Name::new(word.as_bytes()).expect("the names here are plain words")
}
