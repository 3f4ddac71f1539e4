use std::fs::{self, File};
use std::io::Cursor;
use std::os::unix::fs::FileExt;
use std::path::Path;

use erofs_writer::{BLOCK_SIZE_BYTES, DeviceSlot, Extent, FileData, Image, ImageWriter, Options};
use fstree::{FileKind, Inode, Metadata, Tree};

use super::Mounted;
use crate::samples::name;

const GIB: u64 = 1 << 30;
const BLOCKS_PER_GIB: u64 = GIB / BLOCK_SIZE_BYTES;
/// Length of the device with all content, in GiB.
const DEVICE_GIB: u64 = 10;
/// Sizes of files without holes, in bytes.
const SIZES: [u64; 12] = [
    0,
    1,
    4095,
    4096,
    4097,
    2 * GIB - 1,
    2 * GIB,
    2 * GIB + 1,
    4 * GIB - 1,
    4 * GIB,
    4 * GIB + 1,
    9 * GIB,
];
/// Size of the sparse file, in bytes.
const SPARSE_BYTES: u64 = 2048 * GIB - 5;

fn extent(file_block: u64, blocks: u64, start_block: u64) -> Extent {
    Extent {
        file_block,
        blocks,
        device: 1,
        start_block: u32::try_from(start_block).unwrap(),
    }
}

/// Returns a file whose content begins at the beginning of the device.
fn whole(size_bytes: u64) -> FileData {
    let blocks = size_bytes.div_ceil(BLOCK_SIZE_BYTES);
    let extents = (blocks > 0).then(|| extent(0, blocks, 0));
    FileData {
        size_bytes,
        extents: extents.into_iter().collect(),
        ..FileData::default()
    }
}

/// Returns a file of 2 TiB less 5 bytes. It has its first GiB and its last, which is the device's
/// second.
fn sparse() -> FileData {
    FileData {
        size_bytes: SPARSE_BYTES,
        extents: vec![
            extent(0, BLOCKS_PER_GIB, 0),
            extent(2047 * BLOCKS_PER_GIB, BLOCKS_PER_GIB, BLOCKS_PER_GIB),
        ],
        ..FileData::default()
    }
}

fn tree() -> Tree<FileData> {
    let mut tree = Tree::new(Metadata::directory(0o755));
    let named = SIZES.map(|size| (size.to_string(), whole(size)));
    for (file_name, data) in named.into_iter().chain([("sparse".into(), sparse())]) {
        let id = tree.add(Inode {
            metadata: Metadata::with_mode(0o644),
            kind: FileKind::Regular(data),
        });
        tree.link(tree.root(), name(file_name), id);
    }
    tree
}

/// Returns the 8 bytes at an offset of the device, which encode the offset.
fn mark(offset_bytes: u64) -> [u8; 8] {
    (offset_bytes + 1).to_be_bytes()
}

/// Returns the offsets of marks on the device: at every GiB and around every file's end.
fn places() -> Vec<u64> {
    let ends = SIZES.into_iter().filter(|size| *size >= 4096);
    let mut places: Vec<u64> = (0..=DEVICE_GIB).map(|gib| gib * GIB).collect();
    places.extend(ends.map(|end| end.next_multiple_of(4096)));
    places.sort_unstable();
    places.dedup();
    let before = places.clone().into_iter().filter(|&place| place > 0);
    let mut all: Vec<u64> = before.map(|place| place - 64).collect();
    all.extend(places);
    all.retain(|place| *place < DEVICE_GIB * GIB);
    all
}

/// Tests files of every size, read by the kernel and this crate at the offsets that can go wrong.
pub(super) fn file_sizes() -> String {
    let directory = tempfile::tempdir().unwrap();
    let flat = directory.path().join("flat");
    write(&flat);
    let image = Image::open(File::open(&flat).unwrap()).unwrap();
    image.verify().unwrap();
    let read = image.read_tree().unwrap();
    let mounted = Mounted::file(&flat);
    let mut looked = 0;
    for size in SIZES {
        let path = mounted.root().join(size.to_string());
        assert_eq!(fs::metadata(&path).unwrap().len(), size);
        let file = File::open(&path).unwrap();
        for place in places().into_iter().filter(|place| place + 8 <= size) {
            let mut bytes = [0; 8];
            file.read_exact_at(&mut bytes, place).unwrap();
            assert_eq!(bytes, mark(place), "{size} at {place}");
            looked += 1;
        }
        assert_eq!(
            file.read_at(&mut [0; 8], size).unwrap(),
            0,
            "{size} goes on"
        );
    }
    looked += look_at_sparse(&mounted);
    assert_eq!(read.len(), SIZES.len() + 2);
    small_files_whole(&mounted);
    format!("files of {SIZES:?} and {SPARSE_BYTES} bytes: right in {looked} places\n")
}

/// Writes the image and the device behind it.
fn write(flat: &Path) {
    let device = DeviceSlot {
        tag: "large".into(),
        blocks: u32::try_from(DEVICE_GIB * BLOCKS_PER_GIB).unwrap(),
    };
    let options = Options {
        devices: vec![device],
        ..Options::default()
    };
    let writer = ImageWriter::new(Cursor::new(Vec::new()), options).unwrap();
    let image = writer.finish(&tree()).unwrap().0.into_inner();
    let device_offset = u64::try_from(image.len()).unwrap();
    fs::write(flat, image).unwrap();
    let file = File::options().write(true).open(flat).unwrap();
    file.set_len(device_offset + DEVICE_GIB * GIB).unwrap();
    for place in places() {
        file.write_all_at(&mark(place), device_offset + place)
            .unwrap();
    }
}

fn look_at_sparse(mounted: &Mounted) -> usize {
    let path = mounted.root().join("sparse");
    assert_eq!(fs::metadata(&path).unwrap().len(), SPARSE_BYTES);
    let file = File::open(&path).unwrap();
    let last = 2047 * GIB;
    let zeros = [0; 8];
    let looks = [
        (0, mark(0)),
        (GIB - 64, mark(GIB - 64)),
        (GIB, zeros),
        (1024 * GIB, zeros),
        (last - 8, zeros),
        (last, mark(GIB)),
        (last + GIB - 64, mark(2 * GIB - 64)),
    ];
    for (place, expected) in looks {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, place).unwrap();
        assert_eq!(bytes, expected, "sparse at {place}");
    }
    looks.len()
}

/// Reads the small files completely through the kernel, and checks their length and first mark.
fn small_files_whole(mounted: &Mounted) {
    for size in SIZES.into_iter().filter(|size| *size < 5000) {
        let content = fs::read(mounted.root().join(size.to_string())).unwrap();
        assert_eq!(u64::try_from(content.len()).unwrap(), size);
        let marked = content.get(..8).is_none_or(|start| start == mark(0));
        assert!(marked, "{size}");
    }
}
