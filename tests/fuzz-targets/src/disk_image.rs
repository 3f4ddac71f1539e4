//! Bytes that claim to be a disk image: qcow2, VMDK or a raw disk with partitions. The input consists of
//! blocks of 512 bytes, each after its number in two bytes; all other bytes of the file are zeros.

use disk_image::{DiskImage, PartitionTable, RootChoice, find_root};
use fstree::ReadAt;

use crate::blocks::laid_out;

/// Length of a block of the input in bytes, and length of the file in such blocks.
const BLOCK_BYTES: usize = 512;
const FILE_BLOCKS: usize = 2048;

/// Reads the disk image that `bytes` describe.
pub fn run(bytes: &[u8]) {
    let Ok(image) = DiskImage::open(laid_out(bytes, BLOCK_BYTES, FILE_BLOCKS), None) else {
        return;
    };
    let _ = image.check();
    let _ = PartitionTable::read(&image);
    let _ = find_root(&image, RootChoice::default());
    let mut piece = [0; 5000];
    for offset_bytes in [0, 65_000, 1 << 20, image.size_bytes().saturating_sub(5000)] {
        let _ = image.read_exact_at(&mut piece, offset_bytes);
    }
}
