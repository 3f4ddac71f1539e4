//! Bytes that claim to be a disk image: qcow2, VMDK or a raw disk with partitions. The input consists of
//! blocks of 512 bytes, each after its number in two bytes; all other bytes of the file are zeros.

#![no_main]

use disk_image::{DiskImage, PartitionTable, RootChoice, find_root};
use fstree::ReadAt;
use libfuzzer_sys::fuzz_target;

/// Length of a block of the input in bytes, and length of the file in such blocks.
const BLOCK_BYTES: usize = 512;
const FILE_BLOCKS: usize = 2048;

/// Returns the file that the input describes.
fn laid_out(input: &[u8]) -> Vec<u8> {
    let mut file = vec![0; FILE_BLOCKS * BLOCK_BYTES];
    for piece in input.chunks(2 + BLOCK_BYTES) {
        let &[low, high, ref block @ ..] = piece else { break };
        let number = usize::from(u16::from_le_bytes([low, high])) % FILE_BLOCKS;
        file[number * BLOCK_BYTES..][..block.len()].copy_from_slice(block);
    }
    file
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(image) = DiskImage::open(laid_out(bytes), None) else { return };
    let _ = image.check();
    let _ = PartitionTable::read(&image);
    let _ = find_root(&image, RootChoice::default());
    let mut piece = [0; 5000];
    for offset_bytes in [0, 65_000, 1 << 20, image.size_bytes().saturating_sub(5000)] {
        let _ = image.read_exact_at(&mut piece, offset_bytes);
    }
});
