//! Files whose content stays outside of the image, as that of a layer does.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use ext4_writer::{FileContent, InvalidInode, Layout, OpenedContent, WriteError};
use fstree::{Extent, FileKind, Inode, Metadata, Tree};
use proptest::prelude::*;

use crate::listing::{dump, open};
use crate::mounted::{Mount, e2fsck};
use crate::options;
use crate::random::{expected, tree};
use crate::sample::{add_file, name, one_of_each};

const BLOCK: usize = 4096;
/// The number of layers, each of which is a device.
const LAYERS: usize = 3;
/// Block of a layer at which the first file begins.
const FIRST_BLOCK: usize = 7;

/// Content that lies in layers.
#[derive(Debug, Clone)]
struct Stored {
    size_bytes: u64,
    extents: Vec<Extent>,
}

impl FileContent for Stored {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn open(&self) -> io::Result<OpenedContent<'_>> {
        unreachable!("content outside of the image is not opened")
    }

    fn outside(&self) -> Option<&[Extent]> {
        Some(&self.extents)
    }
}

/// The layers of an image: equal files lie in one once, and blocks of zeros are holes.
struct Layers([Vec<u8>; LAYERS]);

impl Layers {
    fn new() -> Self {
        Self([(); LAYERS].map(|()| vec![0xee; FIRST_BLOCK * BLOCK]))
    }

    /// Stores a file's content in the layer of its length, in runs of as many blocks as its first byte says.
    fn store(&mut self, content: &[u8]) -> Stored {
        let device = content.len() % LAYERS;
        let most = usize::from(content.first().copied().unwrap_or(0)) % 5 + 1;
        let mut extents = Vec::new();
        for (index, piece) in content.chunks(most * BLOCK).enumerate() {
            if piece.iter().all(|byte| *byte == 0) {
                continue;
            }
            let mut padded = piece.to_vec();
            padded.resize(piece.len().next_multiple_of(BLOCK), 0);
            extents.push(Extent {
                file_block: (index * most) as u64,
                blocks: (padded.len() / BLOCK) as u64,
                device: device as u16,
                start_block: self.place(device, &padded) as u32,
            });
        }
        Stored {
            size_bytes: content.len() as u64,
            extents,
        }
    }

    /// Returns the block of a layer at which the bytes are, which are added if they are not there.
    fn place(&mut self, device: usize, bytes: &[u8]) -> usize {
        let layer = &mut self.0[device];
        let places = (0..layer.len() / BLOCK).map(|block| block * BLOCK);
        let found = places
            .filter(|at| layer.len() - at >= bytes.len())
            .find(|at| &layer[*at..at + bytes.len()] == bytes);
        let at = found.unwrap_or(layer.len());
        if found.is_none() {
            layer.extend_from_slice(bytes);
        }
        at / BLOCK
    }
}

/// Writes an image over layers, and then the blocks of the layers where it expects them.
fn composed(tree: Tree<Vec<u8>>, size_bytes: u64) -> (tempfile::NamedTempFile, usize) {
    let mut layers = Layers::new();
    let Ok(tree) = tree.try_map(|content| Ok::<_, io::Error>(layers.store(&content))) else {
        unreachable!()
    };
    let options = options(size_bytes);
    let layout = Layout::new(&tree, &options).expect("laid out");
    let runs = layout.outside().to_vec();
    let image = tempfile::NamedTempFile::new().expect("a temporary file");
    layout.write(image.as_file()).expect("written");
    let mut end = 0;
    for run in &runs {
        assert!(run.start_block >= end && run.blocks > 0, "{runs:?}");
        end = run.start_block + run.blocks;
        let from = run.device_block as usize * BLOCK;
        let bytes = &layers.0[usize::from(run.device)][from..][..run.blocks as usize * BLOCK];
        fill(image.as_file(), bytes, run.start_block);
    }
    (image, runs.len())
}

/// Fills blocks of an image that nothing was written to.
fn fill(image: &File, bytes: &[u8], start_block: u64) {
    let offset_bytes = start_block * BLOCK as u64;
    let mut present = vec![1; bytes.len()];
    image
        .read_exact_at(&mut present, offset_bytes)
        .expect("inside");
    assert!(present.iter().all(|byte| *byte == 0), "a block was written");
    image.write_all_at(bytes, offset_bytes).expect("written");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn content_outside_of_the_image_is_found_in_it(tree in tree()) {
        let wanted = expected(&tree);
        let (file, _) = composed(tree, 64 << 20);
        let image = open(file.path());
        let found = dump(&image);
        prop_assert!(found == wanted, "{:#?}", wanted.differences(&found));
        let report = image.verify();
        prop_assert!(report.is_ok(), "{report:?}");
    }
}

#[test]
fn oracle_e2fsck_and_the_kernel_accept_one_of_each_over_layers() {
    let mut tree = one_of_each();
    let mut large: Vec<u8> = (0..150_usize << 20).map(|at| (at / 4099) as u8).collect();
    large[0] = 4;
    // The copy has the blocks of the first one in the layer, and its own in the image.
    add_file(&mut tree, "large", large.clone());
    add_file(&mut tree, "twin", large);
    let wanted = expected(&tree);
    let (image, _) = composed(tree, 1 << 30);
    e2fsck(image.path());
    let mount = Mount::new(image.path());
    let seen = mount.dump();
    assert!(seen == wanted, "{:#?}", wanted.differences(&seen));
    std::fs::write(mount.path().join("large"), [3; 5 << 10]).expect("the kernel writes");
    std::fs::remove_file(mount.path().join("blocks")).expect("removed");
    std::fs::rename(mount.path().join("twin"), mount.path().join("moved")).expect("renamed");
    drop(mount);
    e2fsck(image.path());
}

#[test]
fn files_that_lie_together_are_one_run() {
    let mut tree = Tree::new(Metadata::directory(0o755));
    for number in 0..200_u32 {
        let blocks =
            (3 * number..3 * number + 3).map(|block| block.to_le_bytes().repeat(BLOCK / 4));
        let bytes = blocks.flatten().collect();
        add_file(&mut tree, &format!("{:03}", 199 - number), bytes);
    }
    let (_, runs) = composed(tree, 64 << 20);
    assert_eq!(runs, 1);
}

#[test]
fn runs_that_no_file_has_are_refused() {
    let extent = |file_block, blocks| Extent {
        file_block,
        blocks,
        device: 0,
        start_block: 9,
    };
    for extents in [
        vec![extent(0, 2), extent(1, 1)],
        vec![extent(1, 2)],
        vec![extent(u64::MAX, 2)],
    ] {
        let size_bytes = 2 * BLOCK as u64;
        let mut tree = Tree::new(Metadata::directory(0o755));
        let id = tree.add(Inode {
            metadata: Metadata::with_mode(0o644),
            kind: FileKind::Regular(Stored {
                size_bytes,
                extents,
            }),
        });
        tree.link(tree.root(), name("odd"), id);
        let options = options(64 << 20);
        let refused = Layout::new(&tree, &options).expect_err("refused");
        let WriteError::Inode { path, problem } = refused else {
            panic!("{refused}")
        };
        assert_eq!(path, b"odd");
        assert_eq!(problem, InvalidInode::Outside { size_bytes });
    }
}
