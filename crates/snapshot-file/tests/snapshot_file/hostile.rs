use fstree::{Metadata, Segment};
use snapshot_file::{Part, ReadError};
use tar_stream::{ArchiveWriter, EntryHeader, EntryKind};

use crate::sample::read;

/// A file of a tar: its name, its size, its data.
struct File<'a>(&'a str, u64, Vec<Segment>);

/// Returns a zstd frame with a tar of these files, all of ones.
fn framed(files: Vec<File<'_>>) -> Vec<u8> {
    let mut tar = ArchiveWriter::new(Vec::new());
    let metadata = Metadata::with_mode(0o600);
    for File(name, size_bytes, segments) in files {
        let header = EntryHeader {
            path: name.as_bytes(),
            kind: EntryKind::Regular,
            link: b"",
            metadata: &metadata,
        };
        let written = tar.file(&header, size_bytes, segments, &mut |_, piece| {
            piece.fill(1);
            Ok(())
        });
        written.expect("written");
    }
    zstd::bulk::compress(&tar.finish().expect("written"), 3).expect("compressed")
}

fn refusal(files: Vec<File<'_>>) -> ReadError {
    read(&framed(files)).expect_err("hostile")
}

fn data(offset_bytes: u64, length_bytes: u64) -> Segment {
    Segment {
        offset_bytes,
        length_bytes,
    }
}

#[test]
fn a_record_is_not_read_into_more_than_its_limit() {
    let size_bytes = (16 << 20) + 1;
    let files = vec![File("snapshot.json", size_bytes, vec![data(0, size_bytes)])];
    let error = refusal(files);
    assert!(
        matches!(
            error,
            ReadError::TooLarge {
                part: Part::Record,
                ..
            }
        ),
        "{error:?}"
    );
    // A sparse one states a size that it has not.
    let error = refusal(vec![File("snapshot.json", 1 << 40, vec![data(0, 1)])]);
    assert!(matches!(error, ReadError::Damaged { .. }), "{error:?}");
}

#[test]
fn a_disk_that_no_machine_has_is_refused() {
    for size_bytes in [0, 1, 513, (16 << 40) + 512] {
        let disk = File("disk.img", size_bytes, Vec::new());
        let record = File("snapshot.json", 2, vec![data(0, 2)]);
        let error = refusal(vec![record, disk]);
        let is_named = error.to_string().contains("disk.img");
        assert!(is_named, "{size_bytes} bytes: {error}");
    }
}

#[test]
fn parts_that_are_missing_or_in_the_wrong_order_are_named() {
    let error = refusal(Vec::new());
    assert!(
        error.to_string().contains("snapshot.json: it is missing"),
        "{error}"
    );
    let error = refusal(vec![File("disk.img", 512, vec![data(0, 512)])]);
    assert!(
        error.to_string().contains("'disk.img' is in its place"),
        "{error}"
    );
    let error = refusal(vec![File("../\u{1b}[2J", 1, vec![data(0, 1)])]);
    assert!(
        error.to_string().contains("'../\\x1b[2J' is in its place"),
        "{error}"
    );
}

#[test]
fn an_image_of_another_size_is_refused_before_it_is_handed_out() {
    let start = || {
        vec![
            File("snapshot.json", 2, vec![data(0, 2)]),
            File("disk.img", 512, vec![data(0, 512)]),
        ]
    };
    for (size_bytes, segments) in [
        (9001, vec![data(0, 9001)]),
        (1 << 40, vec![data(0, 512)]),
        (9000, Vec::new()),
    ] {
        let mut files = start();
        files.push(File("staged-0.erofs", size_bytes, segments));
        let error = refusal(files);
        assert!(
            matches!(
                error,
                ReadError::Damaged {
                    part: Part::Image(0),
                    ..
                }
            ),
            "{size_bytes} bytes: {error:?}"
        );
    }
    let mut files = start();
    files.push(File("checksums.json", 2, vec![data(0, 2)]));
    let error = refusal(files);
    assert!(
        error
            .to_string()
            .contains("'checksums.json' is in its place"),
        "{error}"
    );
}

#[test]
fn a_frame_that_needs_much_memory_is_refused() {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("an encoder");
    encoder.window_log(27).expect("a window");
    std::io::Write::write_all(&mut encoder, &vec![0; 1 << 20]).expect("written");
    let frame = encoder.finish().expect("finished");
    let error = read(&frame).expect_err("hostile");
    assert!(error.to_string().contains("memory"), "{error}");
}

#[test]
fn a_file_of_another_kind_is_refused() {
    for bytes in [&b""[..], b"PK\x03\x04", b"{}", &[0; 512], &[0x28]] {
        read(bytes).expect_err("not an archive");
    }
}
