/// The names by which those drivers register themselves that a guest kernel must have, with the zero
/// byte at the end of each.
pub const KERNEL_DRIVERS: &[u8] =
    b"virtio-mmio\0virtio_blk\0virtio_console\0erofs\0ext4\0overlay\0";

/// Returns the shortest kernel, an arm64 `Image` (Documentation/arch/arm64/booting.rst): a header, this
/// content, and one last instruction, to which the header jumps.
///
/// It cannot be booted, and has what `content` has: a banner, or the names of drivers.
#[must_use]
pub fn arm64_image(content: &[u8]) -> Vec<u8> {
    let content = content.chunks(4).flat_map(|chunk| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        word
    });
    let mut image = vec![0; 64];
    image.extend(content);
    // The jump is the second instruction, and counts words from itself.
    let words = u32::try_from(image.len() / 4 - 1).expect("a short content");
    image[4..8].copy_from_slice(&(0x1400_0000 | words).to_le_bytes());
    // `nop`.
    image.extend(0xd503_201f_u32.to_le_bytes());
    let size_bytes = u64::try_from(image.len()).expect("a short content");
    image[16..24].copy_from_slice(&size_bytes.to_le_bytes());
    // Pages of 4 KiB, anywhere in memory, little-endian.
    image[24..32].copy_from_slice(&0b1010_u64.to_le_bytes());
    image[56..60].copy_from_slice(b"ARM\x64");
    image
}
