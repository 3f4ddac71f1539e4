//! Trees of files, compared with BLAKE3 itself.

mod lengths;
mod random;
mod ranges;
mod sidecars;

use std::io::Cursor;

use block_tree::{BlockTree, Content, HeadLastWriter, TreeWriter};

/// Returns bytes that differ from block to block.
fn bytes_of(length: usize) -> Vec<u8> {
    let words = (0_u32..).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes());
    words.take(length).collect()
}

/// Returns the length and checksum of a file, by BLAKE3's own hasher.
fn content_of(bytes: &[u8]) -> Content {
    Content {
        length_bytes: u64::try_from(bytes.len()).expect("short"),
        blake3: blake3::hash(bytes).into(),
    }
}

/// Returns the sidecar of a file that is written in pieces of these lengths, repeated, and what the writer found.
fn sidecar_of(bytes: &[u8], pieces: &[usize]) -> (Vec<u8>, Content) {
    let mut writer = TreeWriter::new(Cursor::new(Vec::new())).expect("memory");
    let mut rest = bytes;
    for piece in pieces.iter().cycle() {
        let (now, later) = rest.split_at(rest.len().min(*piece));
        writer.update(now).expect("memory");
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    let (sidecar, content) = writer.finish().expect("memory");
    (sidecar.into_inner(), content)
}

/// Returns the sidecar of a file whose first block comes last.
fn sidecar_head_last(head: &[u8; 4096], tail: &[u8], piece: usize) -> (Vec<u8>, Content) {
    let mut writer = HeadLastWriter::new(Cursor::new(Vec::new())).expect("memory");
    for piece in tail.chunks(piece) {
        writer.update(piece).expect("memory");
    }
    let (sidecar, content) = writer.finish(head).expect("memory");
    (sidecar.into_inner(), content)
}

fn tree_of(bytes: &[u8]) -> BlockTree<Vec<u8>> {
    let (sidecar, content) = sidecar_of(bytes, &[bytes.len().max(1)]);
    BlockTree::open(sidecar, &content).expect("the right sidecar")
}
