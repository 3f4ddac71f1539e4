//! Sparse maps that fit, and maps that do not.

use testkit::{TarBuilder, TarEntry};

use super::{Case, file};

/// A map's name, its pairs and the file's real size; the data is always six bytes.
type Map = (&'static str, &'static [(u64, u64)], u64);

const MAPS: [Map; 12] = [
    ("right", &[(0, 3), (8192, 3)], 10_000),
    ("hole-at-the-end", &[(0, 6)], 50_000),
    ("all-hole", &[(5000, 0)], 5000),
    ("empty-pairs", &[(0, 0), (0, 6), (6, 0)], 6),
    ("overlap", &[(0, 4), (2, 2)], 100),
    ("backward", &[(50, 3), (0, 3)], 100),
    ("beyond", &[(99, 6)], 100),
    ("more-data", &[(0, 600)], 1000),
    ("less-data", &[(0, 2)], 1000),
    ("no-pairs", &[], 100),
    ("overflow", &[(u64::MAX - 2, 6)], u64::MAX),
    ("large", &[(0, 3), (1 << 26, 3)], (1 << 26) + 3),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, pairs, size) in MAPS {
        if !["overflow"].contains(&name) {
            cases.push(Case::new(
                format!("sparse/gnu/{name}"),
                vec![gnu(pairs, size)],
            ));
        }
        let size_text = size.to_string();
        let mut entry = TarEntry::file("sparse", "abcdef")
            .mtime(5, 0)
            .record("GNU.sparse.size", &size_text);
        entry = entry.record("GNU.sparse.numblocks", pairs.len().to_string());
        for (offset, length) in pairs {
            entry = entry
                .record("GNU.sparse.offset", offset.to_string())
                .record("GNU.sparse.numbytes", length.to_string());
        }
        cases.push(Case::one(
            format!("sparse/0.0/{name}"),
            [entry, file("after")],
        ));
        let entry = TarEntry::file("GNUSparseFile.0/sparse", "abcdef")
            .mtime(5, 0)
            .record("GNU.sparse.size", &size_text)
            .record("GNU.sparse.numblocks", pairs.len().to_string())
            .record("GNU.sparse.name", "sparse")
            .record("GNU.sparse.map", joined(pairs, ","));
        cases.push(Case::one(
            format!("sparse/0.1/{name}"),
            [entry, file("after")],
        ));
        cases.push(Case::one(
            format!("sparse/1.0/{name}"),
            [
                one_zero(&format!("{}\n{}\n", pairs.len(), joined(pairs, "\n")), size),
                file("after"),
            ],
        ));
    }
    for (name, map) in [
        ("count-huge", "99999999999\n0\n6\n"),
        ("count-negative", "-1\n"),
        ("count-text", "x\n"),
        ("no-newline", "1"),
        ("short", "3\n0\n1\n"),
        (
            "number-long",
            "1\n00000000000000000000000000000000000000000\n6\n",
        ),
    ] {
        cases.push(Case::one(
            format!("sparse/1.0/{name}"),
            [one_zero(map, 10_000), file("after")],
        ));
    }
    let odd = |name: &str, entry: TarEntry| {
        Case::one(format!("sparse/odd/{name}"), [entry, file("after")])
    };
    cases.push(odd(
        "map-odd",
        file("s")
            .record("GNU.sparse.size", "10")
            .record("GNU.sparse.map", "0,1,2"),
    ));
    cases.push(odd(
        "map-text",
        file("s")
            .record("GNU.sparse.size", "10")
            .record("GNU.sparse.map", "a,b"),
    ));
    cases.push(odd(
        "version",
        file("s")
            .record("GNU.sparse.major", "9")
            .record("GNU.sparse.minor", "9"),
    ));
    cases.push(odd(
        "name-only",
        file("s").record("GNU.sparse.name", "renamed"),
    ));
    cases
}

fn joined(pairs: &[(u64, u64)], separator: &str) -> String {
    let numbers = pairs
        .iter()
        .flat_map(|(offset, length)| [offset.to_string(), length.to_string()]);
    numbers.collect::<Vec<_>>().join(separator)
}

fn one_zero(map: &str, size: u64) -> TarEntry {
    let mut content = map.as_bytes().to_vec();
    content.resize(512, 0);
    content.extend(b"abcdef");
    TarEntry::file("GNUSparseFile.0/sparse", content)
        .mtime(5, 0)
        .record("GNU.sparse.major", "1")
        .record("GNU.sparse.minor", "0")
        .record("GNU.sparse.realsize", size.to_string())
        .record("GNU.sparse.name", "sparse")
}

fn gnu(pairs: &[(u64, u64)], size: u64) -> Vec<u8> {
    let mut header = TarEntry::new(b'S', "sparse").mtime(5, 0).header(6);
    header[257..265].copy_from_slice(b"ustar  \0");
    header[345..].fill(0);
    for (field, (offset, length)) in header[386..482].chunks_exact_mut(24).zip(pairs) {
        field.copy_from_slice(format!("{offset:011o}\0{length:011o}\0").as_bytes());
    }
    header[483..494].copy_from_slice(&format!("{size:011o}").as_bytes()[..11]);
    TarBuilder::seal(&mut header);
    let mut builder = TarBuilder::default();
    builder
        .block(&header)
        .content(b"abcdef")
        .entry(&file("after"));
    builder.finish()
}
