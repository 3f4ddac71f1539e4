//! Repeated content is stored once, and only if it is identical.

use std::io::{Cursor, Read, Seek, SeekFrom, Write};

use erofs_writer::{
    Image, ImageOutput, ImageWriter, Options, OutputFile, Run, Summary, WriteError,
};
use fstree::{FileKind, Inode, Metadata, Tree};

use crate::samples::name;

const KIB: usize = 1 << 10;

/// Returns bytes that differ for each seed.
fn content(seed: u8, length: usize) -> Vec<u8> {
    let numbers = (u32::from(seed) << 24..).take(length.div_ceil(4));
    let mut bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
    bytes.truncate(length);
    bytes
}

/// The runs that the writer returned for each content, and the image.
struct Stored<W> {
    runs: Vec<Run>,
    image: W,
    summary: Summary,
}

fn store<W: ImageOutput>(out: W, contents: &[Vec<u8>]) -> Stored<W> {
    let mut writer = ImageWriter::new(out, Options::default()).unwrap();
    let mut tree = Tree::new(Metadata::directory(0o755));
    let mut runs = Vec::new();
    for (number, content) in contents.iter().enumerate() {
        let size_bytes = content.len() as u64;
        let run = writer.append(&mut &content[..], size_bytes).unwrap();
        let run = run.unwrap();
        let id = tree.add(Inode {
            metadata: Metadata::with_mode(0o644),
            kind: FileKind::Regular(run.whole_file(size_bytes)),
        });
        tree.link(tree.root(), name(number.to_string()), id);
        runs.push(run);
    }
    let (image, summary) = writer.finish(&tree).unwrap();
    Stored {
        runs,
        image,
        summary,
    }
}

/// Checks that every file has its content, and that the image is sound.
fn check(image: Vec<u8>, contents: &[Vec<u8>]) {
    let image = Image::open(image).unwrap();
    image.verify().unwrap();
    let tree = image.read_tree().unwrap();
    for (number, content) in contents.iter().enumerate() {
        let id = tree.lookup(tree.root(), number.to_string().as_bytes());
        let FileKind::Regular(data) = &tree.inode(id.unwrap()).kind else {
            panic!("{number} is no regular file");
        };
        let mut read = Vec::new();
        image.copy_file(data, &[], &mut read).unwrap();
        assert_eq!(&read, content, "file {number}");
    }
}

fn in_memory(contents: &[Vec<u8>]) -> (Vec<Run>, u64) {
    let stored = store(Cursor::new(Vec::new()), contents);
    check(stored.image.into_inner(), contents);
    (stored.runs, stored.summary.data_blocks)
}

#[test]
fn the_same_content_shares_its_blocks() {
    let contents = [
        content(1, 5000),
        content(2, 100),
        content(1, 5000),
        content(2, 100),
    ];
    let (runs, data_blocks) = in_memory(&contents);
    assert_eq!((runs[0], runs[1]), (runs[2], runs[3]));
    assert_eq!(data_blocks, 2 + 1);
}

#[test]
fn zeros_behind_a_file_are_what_they_are_in_a_file() {
    let contents = [vec![7; 10], [vec![7; 10], vec![0; 10]].concat()];
    let (runs, data_blocks) = in_memory(&contents);
    assert_eq!((runs[0], data_blocks), (runs[1], 1));
}

#[test]
fn a_part_of_a_file_is_no_content_of_its_own() {
    let contents = [content(1, 8 * KIB), content(1, 4 * KIB)];
    let (_, data_blocks) = in_memory(&contents);
    assert_eq!(data_blocks, 2 + 1);
}

#[test]
fn long_files_are_not_looked_for() {
    let long = 256 * KIB + 1;
    let contents = [256 * KIB, 256 * KIB, long, long].map(|length| content(1, length));
    let (_, data_blocks) = in_memory(&contents);
    assert_eq!(data_blocks, 64 + 65 + 65);
}

#[test]
fn what_has_left_the_buffer_is_found_in_the_file() {
    let others = (2..40).map(|seed| content(seed, 60 * KIB));
    let mut contents: Vec<_> = std::iter::once(content(1, 300)).chain(others).collect();
    contents.extend([content(1, 300), content(2, 60 * KIB), content(99, 5)]);
    let work = tempfile::tempdir().unwrap();
    let path = work.path().join("image");
    let stored = store(OutputFile::create(&path).unwrap(), &contents);
    assert_eq!(stored.summary.data_blocks, 1 + 38 * 15 + 1);
    assert_eq!(stored.runs[0], stored.runs[39]);
    assert_eq!(stored.runs[1], stored.runs[40]);
    check(std::fs::read(path).unwrap(), &contents);
}

/// An output that can no longer be read once a run has been written.
struct Unreadable(Cursor<Vec<u8>>);

impl Read for Unreadable {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::PermissionDenied.into())
    }
}

impl Write for Unreadable {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for Unreadable {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

impl ImageOutput for Unreadable {}

#[test]
fn an_output_that_cannot_be_read_back_is_reported() {
    let out = Unreadable(Cursor::new(Vec::new()));
    let mut writer = ImageWriter::new(out, Options::default()).unwrap();
    let mut append = |seed, length| {
        let content = content(seed, length);
        writer.append(&mut &content[..], content.len() as u64)
    };
    append(1, 300).unwrap();
    for seed in 2..20 {
        append(seed, 60 * KIB).unwrap();
    }
    let Err(WriteError::ReadBack { offset_bytes, .. }) = append(1, 300) else {
        panic!("the run has left the buffer");
    };
    assert_eq!(offset_bytes, 4096);
}

#[test]
fn content_of_unknown_length_is_stored_and_shared_as_any_other() {
    let lengths = [
        0,
        1,
        4096,
        256 * KIB - 1,
        256 * KIB,
        256 * KIB + 1,
        600 * KIB,
    ];
    let mut writer = ImageWriter::new(Cursor::new(Vec::new()), Options::default()).unwrap();
    for _ in 0..2 {
        for length in lengths {
            let content = content(1, length);
            let data = writer.append_all(&mut &content[..]).unwrap();
            assert_eq!(data.size_bytes, length as u64);
        }
    }
    let tree = Tree::new(Metadata::directory(0o755));
    let (_, summary) = writer.finish(&tree).unwrap();
    assert_eq!(summary.data_blocks, 1 + 1 + 64 + 64 + 2 * (65 + 150));
}

/// XXH3 multiplies the halves of each word of 8 bytes, one of them mixed with a known secret. It
/// adds the words of a column, so if one half equals the secret, the other only affects the sum.
#[test]
fn contents_with_one_hash_are_told_apart() {
    let block = |first: u8, second: u8| {
        let mut block = vec![0; 4096];
        block[..4].copy_from_slice(&[0xb8, 0xfe, 0x6c, 0x39]);
        block[64..68].copy_from_slice(&[0x7c, 0x01, 0x81, 0x2c]);
        (block[4], block[68]) = (first, second);
        block
    };
    let contents = [block(1, 2), block(2, 1), block(1, 2), block(2, 1)];
    let hashes = contents
        .each_ref()
        .map(|block| xxhash_rust::xxh3::xxh3_64(block));
    assert_eq!(hashes[0], hashes[1], "this tests nothing otherwise");
    let (runs, data_blocks) = in_memory(&contents);
    assert_ne!(runs[0], runs[1]);
    assert_eq!(runs[0], runs[2]);
    assert_eq!(data_blocks, 3, "only the first is remembered");
}
