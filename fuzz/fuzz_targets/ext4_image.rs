//! Bytes that claim to be an ext4 image, including its journal. The input consists of blocks of 1
//! KiB, each after its number in two bytes; all other bytes of the image are zeros.

#![no_main]

use std::fmt;

use ext4_writer::Image;
use fstree::FileKind;
use libfuzzer_sys::fuzz_target;

/// Largest file whose content is read, in bytes.
const FILE_BYTES: u64 = 1 << 20;
/// Longest dump, in bytes.
const DUMP_BYTES: usize = 1 << 20;
/// Length of a block of the input in bytes, and length of the image in such blocks.
const BLOCK_BYTES: usize = 1024;
const IMAGE_BLOCKS: usize = 2500;

/// An output that discards its text, and fails after this many bytes.
struct Bounded(usize);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

/// Returns the image that the input describes.
fn laid_out(input: &[u8]) -> Vec<u8> {
    let mut image = vec![0; IMAGE_BLOCKS * BLOCK_BYTES];
    for piece in input.chunks(2 + BLOCK_BYTES) {
        let &[low, high, ref block @ ..] = piece else { break };
        let number = usize::from(u16::from_le_bytes([low, high])) % IMAGE_BLOCKS;
        image[number * BLOCK_BYTES..][..block.len()].copy_from_slice(block);
    }
    image
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(image) = Image::open(laid_out(bytes)) else { return };
    let _ = image.verify();
    let _ = image.dump(&mut Bounded(DUMP_BYTES));
    let Ok(tree) = image.read_tree() else { return };
    for entry in tree.walk().take(100) {
        if let FileKind::Regular(data) = &entry.inode.kind
            && data.size_bytes <= FILE_BYTES
        {
            let _ = image.copy_file(data, &mut std::io::sink());
        }
    }
});
