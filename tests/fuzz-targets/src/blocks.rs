//! Large files in short inputs.

/// Returns a file of zeros with the blocks of `input`, each of which follows its number in two bytes.
pub(crate) fn laid_out(input: &[u8], block_bytes: usize, blocks: usize) -> Vec<u8> {
    let mut file = vec![0; blocks * block_bytes];
    for piece in input.chunks(2 + block_bytes) {
        let &[low, high, ref block @ ..] = piece else {
            break;
        };
        let number = usize::from(u16::from_le_bytes([low, high])) % blocks;
        file[number * block_bytes..][..block.len()].copy_from_slice(block);
    }
    file
}
