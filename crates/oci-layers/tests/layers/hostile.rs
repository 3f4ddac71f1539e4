//! Archives with changed bytes give an error or a tree, never a panic.

use std::convert::Infallible;

use oci_layers::{Limits, merge};
use proptest::prelude::*;
use testkit::strategies::layers;
use testkit::{TarBuilder, TarEntry};

use crate::fixture::read;

/// Changes bytes, then corrects the checksums, so that the change is read.
fn changed(mut tar: Vec<u8>, changes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    for (index, byte) in changes {
        let place = index.index(tar.len());
        tar[place] = *byte;
    }
    for block in tar.as_chunks_mut::<512>().0.iter_mut() {
        if block[257..262] == *b"ustar" {
            TarBuilder::seal(block);
        }
    }
    tar
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn changed_archives_are_refused_or_read(
        layers in layers(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let sparse = TarEntry::file("sparse", [b'1'; 40])
            .record("GNU.sparse.numblocks", "1")
            .record("GNU.sparse.map", "10,40")
            .record("GNU.sparse.size", "5000");
        let entries = layers.iter().flatten().map(|step| step.entry());
        let extra = [
            sparse,
            TarEntry::file("map", "1\n0\n4\nabcd").record("GNU.sparse.major", "1").record("GNU.sparse.minor", "0"),
            TarEntry::file("x", "").xattr("user.x", "1").mtime(-1, 5),
        ];
        let tar = changed(TarBuilder::archive(extra.into_iter().chain(entries)), &changes);
        for tar in [&tar[..], &tar[..cut.index(tar.len())]] {
            if let Ok((layer, _)) = read(tar) {
                let again = Ok::<_, Infallible>(layer.tree.clone());
                let _ = merge([Ok(layer.tree), again], &Limits::default());
            }
        }
    }
}
