//! Sparse files in every spelling of the archive formats.

use testkit::{TarBuilder, TarEntry};

use super::row::{At, Image, Row, entries, one};

/// Offset and length of each piece of data: 20,005 bytes with "ab", "c" and "end".
const PAIRS: [(u64, u64); 4] = [(10, 2), (8192, 1), (20_002, 3), (20_005, 0)];
const DATA: &[u8] = b"abcend";
const RIGHT: &str = "the real file, with holes";

pub(super) const ROWS: &[Row] = &[
    Row::plain(
        "sparse-gnu",
        "GNU `S`, with an extension header",
        RIGHT,
        gnu,
        expanded,
    ),
    Row::plain(
        "sparse-0.0",
        "PAX sparse 0.0",
        RIGHT,
        |at| {
            let mut entry = at
                .file_of("sparse", DATA)
                .record("GNU.sparse.size", "20005");
            for (offset, length) in PAIRS {
                entry = entry
                    .record("GNU.sparse.offset", offset.to_string())
                    .record("GNU.sparse.numbytes", length.to_string());
            }
            one([entry, at.file("next")])
        },
        expanded,
    ),
    Row::plain(
        "sparse-0.1",
        "PAX sparse 0.1",
        RIGHT,
        |at| {
            let entry = at
                .file_of("GNUSparseFile.1/sparse", DATA)
                .record("GNU.sparse.size", "20005")
                .record("GNU.sparse.name", at.path("sparse"))
                .record("GNU.sparse.map", pairs(","));
            one([entry, at.file("next")])
        },
        expanded,
    ),
    Row::plain(
        "sparse-1.0",
        "PAX sparse 1.0",
        RIGHT,
        |at| {
            let mut content = format!("{}\n{}\n", PAIRS.len(), pairs("\n")).into_bytes();
            content.resize(512, 0);
            content.extend(DATA);
            let entry = at
                .file_of("GNUSparseFile.1/sparse", content)
                .record("GNU.sparse.major", "1")
                .record("GNU.sparse.minor", "0")
                .record("GNU.sparse.realsize", "20005")
                .record("GNU.sparse.name", at.path("sparse"));
            one([entry, at.file("next")])
        },
        expanded,
    ),
    Row::refused(
        "sparse-overlap",
        "a sparse map that overlaps itself",
        "sparse",
        |at| {
            let entry = at
                .file_of("sparse", DATA)
                .record("GNU.sparse.size", "20005")
                .record("GNU.sparse.map", "0,4,2,2");
            one([entry])
        },
    ),
];

/// Returns the file with its holes as zeros, and the entry that follows it.
fn expanded(at: &At) -> Vec<u8> {
    let mut content = vec![0; 20_005];
    content[10..12].copy_from_slice(b"ab");
    content[8192] = b'c';
    content[20_002..].copy_from_slice(b"end");
    entries([at.file_of("sparse", content), at.file("next")])
}

fn pairs(separator: &str) -> String {
    let numbers = PAIRS.iter().flat_map(|(offset, length)| [offset, length]);
    let numbers: Vec<String> = numbers.map(u64::to_string).collect();
    numbers.join(separator)
}

fn gnu(at: &At) -> Image {
    let entry = TarEntry {
        type_flag: b'S',
        ..at.file_of("sparse", DATA)
    };
    let mut header = entry.header(6);
    header[257..265].copy_from_slice(b"ustar  \0");
    // The fields of `struct oldgnu_header`: four pairs, "more follow", the real size.
    header[345..].fill(0);
    put(&mut header[386..482], &PAIRS[..2]);
    header[482] = 1;
    header[483..495].copy_from_slice(b"00000047045\0");
    TarBuilder::seal(&mut header);
    let mut extension = [0; 512];
    put(&mut extension[..504], &PAIRS[2..]);
    let mut builder = TarBuilder::default();
    builder
        .block(&header)
        .block(&extension)
        .content(DATA)
        .entry(&at.file("next"));
    Image::Shared(vec![builder.unfinished()])
}

fn put(block: &mut [u8], pairs: &[(u64, u64)]) {
    for (field, (offset, length)) in block.chunks_exact_mut(24).zip(pairs) {
        field.copy_from_slice(format!("{offset:011o}\0{length:011o}\0").as_bytes());
    }
}
