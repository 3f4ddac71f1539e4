//! The end of an archive, and its compression.

use flate2::Compression;
use flate2::write::GzEncoder;
use testkit::TarEntry;

use super::row::{Image, Row, entries, finished};
use test_support::oci_layout::{Blob, gzip, skippable, zstd};

pub(super) const ROWS: &[Row] = &[
    Row::plain(
        "ends",
        "an empty archive, one zero block, none, trailing zeros",
        "empty or complete trees",
        |_| {
            let end = |name: &str, zeros: usize| Blob::plain([file(name), vec![0; zeros]].concat());
            Image::Alone(vec![
                Blob::plain(finished(entries([TarEntry::directory("./").mtime(9, 0)]))),
                Blob::plain(Vec::new()),
                Blob::plain(vec![0; 1024]),
                end("one-block", 512),
                end("none", 0),
                end("trailing", 1024 + 20 * 512),
            ])
        },
        |_| {
            [
                entries([TarEntry::directory("./").mtime(9, 0)]),
                file("none"),
                file("one-block"),
                file("trailing"),
            ]
            .concat()
        },
    ),
    Row::plain(
        "garbage",
        "bytes behind the archive's end, within the limit",
        "read for the digest, and ignored",
        |_| {
            Image::Alone(vec![Blob::plain(
                [finished(rooted("a")), b"garbage".repeat(1000)].concat(),
            )])
        },
        |_| rooted("a"),
    ),
    Row::refused(
        "garbage-much",
        "bytes behind the archive's end, beyond the limit",
        "limit",
        |_| {
            let tar = [finished(file("a")), vec![1; 65 << 20]].concat();
            Image::Alone(vec![Blob::wrapped("layer.v1.tar+gzip", &tar, gzip)])
        },
    ),
    Row::refused(
        "cut",
        "an archive that ends inside an entry",
        "too early",
        |_| {
            let mut tar = entries([TarEntry::file("a", [7; 4096])]);
            tar.truncate(2048);
            Image::Alone(vec![Blob::plain(tar)])
        },
    ),
    Row::plain(
        "gzip",
        "gzip with several members, extra fields and names, trailing zeros",
        "one stream",
        |_| {
            let tar = finished(rooted("a"));
            let (one, two) = tar.split_at(700);
            let members = [gzip(one), gzip(&[]), with_extra_field(two), vec![0; 64]].concat();
            Image::Alone(vec![Blob::wrapped("layer.v1.tar+gzip", &tar, |_| members)])
        },
        |_| rooted("a"),
    ),
    Row::plain(
        "zstd",
        "zstd with several frames and skippable ones, first and last",
        "one stream",
        |_| {
            let tar = finished(rooted("a"));
            let (one, two) = tar.split_at(700);
            let frames = [
                skippable(b"toc"),
                zstd(one),
                skippable(b""),
                zstd(two),
                skippable(&[9; 100]),
            ]
            .concat();
            Image::Alone(vec![Blob::wrapped("layer.v1.tar+zstd", &tar, |_| frames)])
        },
        |_| rooted("a"),
    ),
    Row::plain(
        "media-type",
        "a media type that disagrees with the bytes",
        "by the bytes",
        |_| {
            let tar = |name| finished(rooted(name));
            Image::Alone(vec![
                Blob::wrapped("layer.v1.tar", &tar("a"), gzip),
                Blob::wrapped("layer.v1.tar+gzip", &tar("b"), zstd),
                Blob::wrapped("layer.v1.tar+zstd", &tar("c"), <[u8]>::to_vec),
            ])
        },
        |_| [rooted("a"), file("b"), file("c")].concat(),
    ),
    Row::refused(
        "diff-id",
        "a layer that is not what its diff ID says",
        "diff ID",
        |_| {
            let mut blob = Blob::plain(finished(file("a")));
            // No other row has this layer: a layer that the store has already is not read again.
            blob.diff_id = Blob::plain(finished(file("unstored"))).diff_id;
            Image::Alone(vec![blob])
        },
    ),
    Row::plain(
        "same-layer",
        "one layer twice; an empty layer; one diff ID in two compressions",
        "one artifact",
        |_| {
            let layer = finished(rooted("a"));
            Image::Alone(vec![
                Blob::plain(layer.clone()),
                Blob::wrapped("layer.v1.tar+gzip", &layer, gzip),
                Blob::plain(finished(Vec::new())),
                Blob::wrapped("layer.v1.tar+zstd", &layer, zstd),
                Blob::plain(finished(file("b"))),
                Blob::plain(layer),
            ])
        },
        |_| [rooted("a"), file("b")].concat(),
    ),
    Row::umoci(
        "many-layers",
        "127 layers, the first 126 already in the store",
        "every layer is there",
        |_| {
            let layer = |index: u32| {
                let path = format!("layer-{index}");
                let own = TarEntry::file(&path, path.as_bytes()).mtime(i64::from(index), 0);
                let replaced = TarEntry::file("last", path.as_bytes()).mtime(5, 0);
                entries([TarEntry::directory("./").mtime(9, 0), own, replaced])
            };
            super::row::alone((0..127).map(layer))
        },
    ),
];

/// Returns the entries of a layer that sets the root and has one file.
fn rooted(name: &str) -> Vec<u8> {
    [entries([TarEntry::directory("./").mtime(9, 0)]), file(name)].concat()
}

fn file(name: &str) -> Vec<u8> {
    entries([TarEntry::file(name, name).mtime(3, 0)])
}

/// Returns a member with an extra field, a name and a comment (RFC 1952, 2.3).
fn with_extra_field(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder: GzEncoder<Vec<u8>> = flate2::GzBuilder::new()
        .extra(*b"AB\x02\x00xy")
        .filename("name")
        .comment("a comment")
        .write(Vec::new(), Compression::fast());
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .expect("memory takes every write")
}
