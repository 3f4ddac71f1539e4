//! Sparse files in all four formats.

use std::io::Cursor;

use erofs_writer::{Image, ImageWriter, Options};
use fstree::{FileData, FileKind};
use oci_layers::{Limits, read_layer};
use testkit::{TarBuilder, TarEntry};

use crate::fixture::{BLOCK_BYTES, bytes_of, message, read};

/// Offset and length of each piece of data: 20,005 bytes with "ab", "c" and "end".
const PAIRS: [(u64, u64); 4] = [(10, 2), (8192, 1), (20_002, 3), (20_005, 0)];
const DATA: &[u8] = b"abcend";
const SIZE_BYTES: u64 = 20_005;

fn check(tar: &[u8]) {
    let (layer, sink) = read(tar).unwrap_or_else(|error| panic!("{}", message(&error)));
    let id = layer.tree.find(b"sparse").expect("it is there");
    let FileKind::Regular(data) = &layer.tree.inode(id).kind else {
        panic!("it is a regular file");
    };
    let mut expected = vec![0; 20_005];
    expected[10..12].copy_from_slice(b"ab");
    expected[8192] = b'c';
    expected[20_002..].copy_from_slice(b"end");
    assert_eq!(bytes_of(data, |_| &sink), expected);
    assert_eq!(runs(data), [(0, 1), (2, 1), (4, 1)]);
    assert!(
        layer.tree.find(b"next").is_some(),
        "the next entry is found"
    );
}

fn runs(data: &FileData) -> Vec<(u64, u64)> {
    let extents = data.extents.iter();
    extents
        .map(|extent| (extent.file_block, extent.blocks))
        .collect()
}

fn pairs_text(separator: &str) -> String {
    let numbers = PAIRS.iter().flat_map(|(offset, length)| [offset, length]);
    numbers
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(separator)
}

fn with_next(entry: TarEntry) -> Vec<u8> {
    TarBuilder::archive([entry, TarEntry::file("next", "1")])
}

fn gnu(pairs: &[(u64, u64)], size_bytes: u64) -> Vec<u8> {
    let length = u64::try_from(DATA.len()).expect("fits");
    let mut header = TarEntry::new(b'S', "sparse").header(length);
    header[257..265].copy_from_slice(b"ustar  \0");
    let put = |block: &mut [u8], pairs: &[(u64, u64)]| {
        for (field, (offset, length)) in block.chunks_exact_mut(24).zip(pairs) {
            field.copy_from_slice(format!("{offset:011o}\0{length:011o}\0").as_bytes());
        }
    };
    let (first, rest) = pairs.split_at(pairs.len().min(2));
    put(&mut header[386..482], first);
    header[482] = u8::from(!rest.is_empty());
    header[483..495].copy_from_slice(format!("{size_bytes:011o}\0").as_bytes());
    TarBuilder::seal(&mut header);
    let mut builder = TarBuilder::default();
    builder.block(&header);
    if !rest.is_empty() {
        let mut block = [0; 512];
        put(&mut block[..504], rest);
        builder.block(&block);
    }
    builder.content(DATA).entry(&TarEntry::file("next", "1"));
    builder.finish()
}

#[test]
fn gnu_with_an_extension_block() {
    check(&gnu(&PAIRS, SIZE_BYTES));
}

#[test]
fn pax_0_0() {
    let mut entry = TarEntry::file("sparse", DATA).record("GNU.sparse.size", "20005");
    for (offset, length) in PAIRS {
        entry = entry
            .record("GNU.sparse.offset", offset.to_string())
            .record("GNU.sparse.numbytes", length.to_string());
    }
    check(&with_next(entry));
}

#[test]
fn pax_0_1() {
    let entry = TarEntry::file("GNUSparseFile.1/sparse", DATA)
        .record("GNU.sparse.size", "20005")
        .record("GNU.sparse.name", "sparse")
        .record("GNU.sparse.numblocks", PAIRS.len().to_string())
        .record("GNU.sparse.map", pairs_text(","));
    check(&with_next(entry));
}

#[test]
fn pax_1_0() {
    let mut content = format!("{}\n{}\n", PAIRS.len(), pairs_text("\n")).into_bytes();
    content.resize(512, 0);
    content.extend(DATA);
    let entry = TarEntry::file("GNUSparseFile.1/sparse", content)
        .record("GNU.sparse.major", "1")
        .record("GNU.sparse.minor", "0")
        .record("GNU.sparse.realsize", "20005")
        .record("GNU.sparse.name", "sparse");
    check(&with_next(entry));
}

#[test]
fn sizes_beyond_2_and_4_and_8_gib_are_kept() {
    const GIB: u64 = 1 << 30;
    for size_bytes in [2 * GIB - 1, 2 * GIB + 1, 4 * GIB - 1, 4 * GIB + 1, 9 * GIB] {
        let end = size_bytes - 3;
        let entry = TarEntry::file("a", "1end")
            .record("GNU.sparse.size", size_bytes.to_string())
            .record("GNU.sparse.map", format!("0,1,{end},3"));
        let tar = with_next(entry);
        let options = Options::default();
        let mut writer = ImageWriter::new(Cursor::new(Vec::new()), options).expect("memory");
        let layer = read_layer(&tar[..], &Limits::default(), &mut writer).expect("valid");
        let (bytes, _) = writer.finish(&layer.tree).expect("it fits");
        let image = Image::open(bytes.into_inner()).expect("an image");
        let tree = image.read_tree().expect("it is readable");
        let id = tree.find(b"a").expect("it is there");
        let FileKind::Regular(data) = &tree.inode(id).kind else {
            panic!("it is a regular file");
        };
        assert_eq!(data.size_bytes, size_bytes);
        let block = end / BLOCK_BYTES;
        let blocks = size_bytes.div_ceil(BLOCK_BYTES) - block;
        assert_eq!(runs(data), [(0, 1), (block, blocks)]);
    }
}

#[test]
fn versions_that_nobody_knows_make_no_sparse_file() {
    let entry = TarEntry::file("a", "1\n0\n1\n")
        .record("GNU.sparse.major", "2")
        .record("GNU.sparse.minor", "0")
        .record("GNU.sparse.name", "b");
    let (layer, _) = read(&with_next(entry)).expect("valid");
    let id = layer.tree.find(b"a").expect("it has the header's name");
    let FileKind::Regular(data) = &layer.tree.inode(id).kind else {
        panic!("it is a regular file");
    };
    assert_eq!(data.size_bytes, 6);
}

#[test]
fn maps_on_what_has_no_content_or_with_a_wrong_count_are_refused() {
    let mapped = TarEntry::file("a", "abcd").record("GNU.sparse.map", "0,4");
    let miscounted = mapped.clone().record("GNU.sparse.numblocks", "2");
    let mut directory = mapped.record("GNU.sparse.numblocks", "1");
    (directory.type_flag, directory.content) = (b'5', Vec::new());
    let mut star = TarEntry::file("a", "abcd");
    star.type_flag = b'S';
    for entry in [miscounted, directory, star] {
        let error = read(&with_next(entry)).expect_err("it is to be refused");
        assert!(message(&error).contains("sparse map"), "{error}");
    }
}

#[test]
fn maps_that_do_not_fit_are_refused() {
    let cases: [&[(u64, u64)]; 5] = [
        &[(0, 4), (2, 2)],
        &[(8, 3), (0, 3)],
        &[(20_000, 6)],
        &[(0, 5)],
        &[(u64::from(u32::MAX), 6)],
    ];
    for pairs in cases {
        let error = read(&gnu(pairs, SIZE_BYTES)).expect_err("it is to be refused");
        assert!(message(&error).contains("sparse map"), "{pairs:?}");
    }
}
