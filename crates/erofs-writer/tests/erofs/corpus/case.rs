use std::fs;
use std::path::{Path, PathBuf};

use fstree::{FileType, Tree};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tempfile::TempDir;
use testkit::{Content as Digest, TreeDump};

use crate::model::{Built, Content};
use crate::random::{DEVICES, tree_of};

/// A tree, the image that was made of it, and the dump that every reader must give.
pub(super) struct Case {
    pub(super) tree: Tree<Content>,
    pub(super) built: Built,
    /// The dump of the tree.
    pub(super) expected: String,
    /// The image, followed by its devices if it has any.
    pub(super) flat: PathBuf,
    /// The image without its devices.
    pub(super) image: PathBuf,
    /// The files of the devices, in their order.
    pub(super) devices: Vec<PathBuf>,
    _directory: TempDir,
    scratch: TempDir,
}

impl Case {
    /// Returns the tree with this number: odd numbers are in layers, and every 50th tree is large.
    pub(super) fn new(number: u64) -> Self {
        let tree = random_tree(number);
        let built = if number % 2 == 1 {
            Built::write_over_layers(tree.clone(), DEVICES)
        } else {
            Built::write(on_one_device(tree.clone()), 0)
        };
        // EROFS does not mount a file on tmpfs without a loop device.
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let devices: Vec<PathBuf> = (1..=built.devices.len())
            .map(|device| path(&format!("device-{device}")))
            .collect();
        for (path, bytes) in devices.iter().zip(&built.devices) {
            fs::write(path, bytes).unwrap();
        }
        fs::write(path("image"), &built.image).unwrap();
        fs::write(path("flat"), built.flat()).unwrap();
        Self {
            expected: dump(&tree),
            tree,
            built,
            flat: path("flat"),
            image: path("image"),
            devices,
            _directory: directory,
            scratch: in_memory(),
        }
    }

    /// Returns a path for a reader's own files.
    pub(super) fn scratch(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }
}

fn dump(tree: &Tree<Content>) -> String {
    let digest = |content: &Content| Digest::read(content.bytes().as_slice());
    TreeDump::from_tree(tree, digest).unwrap().to_string()
}

/// Returns a directory on a filesystem in memory, if there is one.
fn in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        return tempfile::tempdir_in(memory).unwrap();
    }
    tempfile::tempdir().unwrap()
}

fn random_tree(number: u64) -> Tree<Content> {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let sizes = match number % 50 {
        0 => 1500..3000_usize,
        1..=5 => 200..600,
        _ => 0..40,
    };
    let mut tree = tree_of(sizes).new_tree(&mut runner).unwrap().current();
    // The kernel shows user.* only on files and directories.
    let others: Vec<_> = tree
        .walk()
        .map(|entry| (entry.id, entry.inode.kind.file_type()))
        .filter(|(_, kind)| !matches!(kind, FileType::Regular | FileType::Directory))
        .collect();
    for (id, _) in others {
        let xattrs = &mut tree.inode_mut(id).metadata.xattrs;
        xattrs.retain(|name, _| !name.starts_with(b"user."));
    }
    tree
}

fn on_one_device(tree: Tree<Content>) -> Tree<Content> {
    let moved = tree.try_map(|mut content| {
        content.pieces.iter_mut().for_each(|piece| piece.device = 0);
        Ok::<_, ()>(content)
    });
    moved.unwrap()
}
