//! Sizes at which other programs have failed.

use testkit::TarEntry;

use super::row::{At, Image, Row, alone, entries, one};

/// Lengths around a block, in bytes.
const SMALL: [usize; 5] = [0, 1, 4095, 4096, 4097];
/// Lengths that 31, 32 and 33 bits do not hold, in bytes.
const LARGE: [u64; 3] = [(1 << 31) + 1, (1 << 32) + 1, (1 << 33) + 1];

pub(super) const ROWS: &[Row] = &[
    Row::umoci(
        "sizes-small",
        "files of 0, 1, 4,095, 4,096 and 4,097 bytes",
        "kept",
        |at| one(SMALL.map(|length| at.file_of(&length.to_string(), vec![b'x'; length]))),
    ),
    Row::umoci(
        "sizes-depth",
        "1,000 directories, one in the other",
        "kept",
        |at| {
            let path = |depth| "d/".repeat(depth);
            let directories = (1..=1000).map(|depth| at.directory(&path(depth)));
            let directories: Vec<TarEntry> = directories.collect();
            let file = at.file(&format!("{}file", path(1000)));
            // Their times are set again, because the file in the last directory has changed its
            // time.
            one(directories
                .clone()
                .into_iter()
                .chain([file])
                .chain(directories.into_iter().rev()))
        },
    ),
    Row::umoci(
        "sizes-names",
        "100,000 names in one directory",
        "kept",
        |at| {
            let files = (0..100_000).map(|number| at.file(&format!("many/{number}")));
            let directory = [at.own(), at.directory("many")];
            alone([entries(
                directory.clone().into_iter().chain(files).chain(directory),
            )])
        },
    )
    .large(),
    Row::umoci(
        "sizes-links",
        "65,000 names of one file",
        "one inode",
        |at| {
            let links = (1..65_000).map(|number| at.hardlink(&format!("link-{number}"), "file"));
            alone([entries(
                [at.own(), at.file("file")]
                    .into_iter()
                    .chain(links)
                    .chain([at.own()]),
            )])
        },
    )
    .large(),
    Row::umoci(
        "sizes-large",
        "sparse files of 2 GiB, 4 GiB and 8 GiB and a byte",
        "kept; holes cost no disk",
        large,
    )
    .large(),
];

fn large(at: &At) -> Image {
    one(LARGE.map(|length| {
        let map = format!("2\n0\n5\n{}\n3\n", length - 3);
        let mut content = map.into_bytes();
        content.resize(512, 0);
        content.extend(b"beginend");
        at.file_of(&format!("GNUSparseFile.0/{length}"), content)
            .record("GNU.sparse.major", "1")
            .record("GNU.sparse.minor", "0")
            .record("GNU.sparse.name", at.path(length.to_string()))
            .record("GNU.sparse.realsize", length.to_string())
    }))
}
