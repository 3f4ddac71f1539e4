//! Bytes that claim to be the tree of a file: no tree but the file's own is accepted.

use std::io::Cursor;

use block_tree::{BlockTree, Content, TreeWriter};

/// Lengths of the files whose trees are in the corpus, in bytes.
const LENGTHS: [usize; 3] = [0, 5000, 66_000];

/// Opens `bytes` as the tree of several files, and makes the tree of a file that is these bytes.
///
/// # Panics
/// If another tree than a file's own is accepted, or a file's own is refused.
pub fn run(bytes: &[u8]) {
    for length in LENGTHS {
        let file = file_of(length);
        let (sidecar, content) = sidecar_of(&file);
        let opened = BlockTree::open(bytes, &content);
        assert_eq!(opened.is_ok(), bytes == sidecar);
        if let Ok(tree) = opened {
            tree.verify(0, &file).expect("the file's own tree");
        }
    }
    if let Some(content) = claimed(bytes) {
        let _ = BlockTree::open(bytes, &content);
    }
    let (sidecar, content) = sidecar_of(bytes);
    let tree = BlockTree::open(sidecar, &content).expect("the file's own tree");
    tree.verify(0, bytes).expect("the file's own tree");
    let mut changed = bytes.to_vec();
    if let Some(last) = changed.last_mut() {
        *last ^= 1;
        assert!(tree.verify(0, &changed).is_err());
    }
}

/// Returns the bytes of a file of the corpus.
fn file_of(length: usize) -> Vec<u8> {
    (0..=250).cycle().take(length).collect()
}

fn sidecar_of(bytes: &[u8]) -> (Vec<u8>, Content) {
    let mut writer = TreeWriter::new(Cursor::new(Vec::new())).expect("memory can be written");
    writer.update(bytes).expect("memory can be written");
    let (sidecar, content) = writer.finish().expect("memory can be read");
    (sidecar.into_inner(), content)
}

/// Returns the file that the bytes say they are of, with a checksum that is taken from them.
fn claimed(bytes: &[u8]) -> Option<Content> {
    let length_bytes = bytes.get(8..16)?.first_chunk()?;
    let blake3 = bytes.get(32..64)?.first_chunk()?;
    Some(Content {
        length_bytes: u64::from_le_bytes(*length_bytes),
        blake3: *blake3,
    })
}
