use std::fs::{self, File};
use std::io::Cursor;
use std::os::unix::fs::FileExt;

use erofs_writer::{DeviceSlot, Extent, FileData, Image, ImageWriter, Options, WriteError};
use fstree::{FileKind, Inode, Metadata, Tree};

use super::Mounted;
use crate::samples::name;

/// Number of blocks that addresses of 32 bits can reach.
const BLOCKS: u32 = u32::MAX;
/// Number of blocks in 2 TiB, at which sector numbers exceed 31 bits.
const TWO_TIB: u32 = 1 << 29;

/// Writes a file of one block at each of these block addresses of one device.
fn write(device_blocks: u32, places: &[u32]) -> Result<Vec<u8>, WriteError> {
    let mut tree = Tree::new(Metadata::directory(0o755));
    for &start_block in places {
        let extent = Extent {
            file_block: 0,
            blocks: 1,
            device: 1,
            start_block,
        };
        let id = tree.add(Inode {
            metadata: Metadata::with_mode(0o644),
            kind: FileKind::Regular(FileData {
                size_bytes: 4096,
                extents: vec![extent],
                ..FileData::default()
            }),
        });
        tree.link(tree.root(), name(start_block.to_string()), id);
    }
    let device = DeviceSlot {
        tag: "disk".into(),
        blocks: device_blocks,
    };
    let options = Options {
        devices: vec![device],
        ..Options::default()
    };
    let writer = ImageWriter::new(Cursor::new(Vec::new()), options)?;
    Ok(writer.finish(&tree)?.0.into_inner())
}

/// Tests the largest disk that addresses reach, on a loop device. It has files around 2 TiB and at
/// its end; one more block is refused.
pub(super) fn past_2_tib() -> String {
    let first = write(0, &[]).unwrap();
    let own_blocks = u32::try_from(first.len() / 4096).unwrap();
    // With its files the image is at most one block longer.
    let places = |last: u32| [0, TWO_TIB - own_blocks - 2, TWO_TIB, TWO_TIB * 5, last];
    let image = write(BLOCKS - own_blocks, &places(BLOCKS - own_blocks - 1)).unwrap();
    assert_eq!(image.len(), first.len(), "files are inodes alone");
    let refused = write(BLOCKS - own_blocks + 1, &[]).unwrap_err();
    assert!(matches!(
        refused,
        WriteError::TooLarge {
            blocks: 0x1_0000_0000
        }
    ));
    assert!(
        refused.to_string().contains("the limit is 4294967295"),
        "{refused}"
    );

    let directory = tempfile::tempdir().unwrap();
    let flat = directory.path().join("flat");
    fs::write(&flat, &image).unwrap();
    let file = File::options().write(true).open(&flat).unwrap();
    file.set_len(u64::from(BLOCKS) * 4096).unwrap();
    for place in places(BLOCKS - own_blocks - 1) {
        let offset = u64::from(own_blocks + place) * 4096;
        file.write_all_at(place.to_string().as_bytes(), offset)
            .unwrap();
    }
    let ours = Image::open(File::open(&flat).unwrap()).unwrap();
    ours.verify().unwrap();
    let mounted = Mounted::file(&flat);
    for place in places(BLOCKS - own_blocks - 1) {
        let text = place.to_string();
        let content = fs::read(mounted.root().join(&text)).unwrap();
        assert_eq!(&content[..text.len()], text.as_bytes());
        assert_eq!(content.len(), 4096);
    }
    format!("a disk of {BLOCKS} blocks (16 TiB less one); one more is refused: {refused}\n")
}
