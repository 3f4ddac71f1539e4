//! A sidecar that is not the one of its file is refused.

use block_tree::{BlockTree, Content, OpenError};

use crate::{bytes_of, content_of, sidecar_of};

fn open(sidecar: &[u8], content: &Content) -> Result<(), OpenError> {
    BlockTree::open(sidecar, content).map(drop)
}

#[test]
fn every_flipped_bit_of_a_sidecar_is_found() {
    for length in [0, 1, 4096, 4097, 70_000] {
        let (mut sidecar, content) = sidecar_of(&bytes_of(length), &[1 << 20]);
        open(&sidecar, &content).expect("the right sidecar");
        for bit in 0..sidecar.len() * 8 {
            sidecar[bit / 8] ^= 1 << (bit % 8);
            let found = open(&sidecar, &content).expect_err("changed");
            let is_named = match bit / 8 {
                0..8 => matches!(found, OpenError::Format),
                8..32 => matches!(found, OpenError::Header { .. }),
                _ => matches!(found, OpenError::Checksum),
            };
            assert!(is_named, "bit {bit} for {length} bytes: {found}");
            sidecar[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn a_sidecar_that_was_cut_or_extended_is_refused() {
    let (mut sidecar, content) = sidecar_of(&bytes_of(70_000), &[1 << 20]);
    for length in 0..sidecar.len() {
        let found = open(&sidecar[..length], &content);
        assert!(
            matches!(found, Err(OpenError::Length { .. })),
            "{length}: {found:?}"
        );
    }
    sidecar.push(0);
    let found = open(&sidecar, &content);
    assert!(matches!(found, Err(OpenError::Length { .. })), "{found:?}");
}

#[test]
fn the_sidecar_of_another_file_is_refused() {
    let bytes = bytes_of(70_000);
    let (sidecar, _) = sidecar_of(&bytes, &[1 << 20]);
    let mut changed = bytes.clone();
    changed[69_999] ^= 1;
    let found = open(&sidecar, &content_of(&changed));
    assert!(matches!(found, Err(OpenError::Checksum)), "{found:?}");
    // As many blocks, but another length.
    let found = open(&sidecar, &content_of(&bytes[..69_999]));
    assert!(
        matches!(
            found,
            Err(OpenError::Header {
                length_bytes: 69_999
            })
        ),
        "{found:?}"
    );
    let found = open(&sidecar, &content_of(&bytes[..60_000]));
    assert!(matches!(found, Err(OpenError::Length { .. })), "{found:?}");
}

#[test]
fn an_unfinished_sidecar_is_refused() {
    let (mut sidecar, content) = sidecar_of(&bytes_of(70_000), &[1 << 20]);
    sidecar[..64].fill(0);
    let found = open(&sidecar, &content);
    assert!(matches!(found, Err(OpenError::Format)), "{found:?}");
}

#[test]
fn a_file_on_disk_is_a_sidecar() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.tree");
    let options = || {
        let mut options = std::fs::File::options();
        options.read(true).write(true).create(true).truncate(true);
        options
    };
    let bytes = bytes_of(200_000);
    let file = options().open(&path).expect("made");
    let mut writer = block_tree::TreeWriter::new(file).expect("written");
    writer.update(&bytes).expect("written");
    let (_, content) = writer.finish().expect("written");
    let tree = BlockTree::open(std::fs::File::open(&path).expect("opened"), &content);
    tree.expect("the right sidecar")
        .verify(0, &bytes)
        .expect("the right bytes");
}
