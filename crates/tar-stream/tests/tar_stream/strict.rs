use std::io::Read as _;

use tar_stream::{ArchiveReader, Limit, Limits, ReadError};
use testkit::{TarBuilder, TarEntry};

use crate::{message, read, read_with, refusal};

#[test]
fn a_record_that_does_not_fit_its_key_is_refused() {
    for (key, value) in [
        ("size", "1x"),
        ("size", "-1"),
        ("size", "0x10"),
        ("size", "99999999999999999999"),
        ("uid", "root"),
        ("gid", "1.5"),
        ("mtime", "soon"),
        ("atime", "1.x"),
        ("path", "a\0b"),
        ("GNU.sparse.realsize", "x"),
    ] {
        let mut entry = TarEntry::file("a", "").record(key, value);
        if key.starts_with("GNU.") {
            entry = entry.record("GNU.sparse.map", "0,0");
        }
        let reason = refusal(&TarBuilder::archive([entry]));
        let expected = format!("the PAX record '{key}' has an invalid value");
        assert!(reason.contains(&expected), "{key}={value}: {reason}");
    }
}

#[test]
fn the_size_of_a_record_goes_before_the_headers() {
    let long = TarEntry::file("a", [b'x'; 700]).record("size", "700");
    let mut tar = TarBuilder::archive([long, TarEntry::file("b", "1")]);
    // The header's own size is 0, as it is if it does not fit the field.
    let header: &mut [u8; 512] = (&mut tar[1024..1536]).try_into().expect("a block");
    header[124..136].copy_from_slice(b"00000000000\0");
    TarBuilder::seal(header);
    let entries = read(&tar).expect("valid");
    let sizes: Vec<_> = entries.iter().map(|(entry, _)| entry.size_bytes).collect();
    assert_eq!(sizes, [700, 1]);
    // A header's size that is not a number is refused anyway.
    let header: &mut [u8; 512] = (&mut tar[1024..1536]).try_into().expect("a block");
    header[124..136].copy_from_slice(b"seven\0\0\0\0\0\0\0");
    TarBuilder::seal(header);
    assert!(refusal(&tar).contains("its size is not a number in range"));
}

#[test]
fn unknown_types_wrong_sums_and_lone_blocks_are_refused() {
    for code in *b"7DMNVXZs" {
        let reason = refusal(&TarBuilder::archive([TarEntry::new(code, "a")]));
        assert!(reason.contains("its type '"), "{reason}");
    }
    let mut tar = TarBuilder::archive([TarEntry::file("a", "1")]);
    let lone = [&[0; 512][..], &tar].concat();
    assert!(refusal(&lone).contains("it follows a single zero block"));
    tar[3] ^= 1;
    assert!(refusal(&tar).contains("its checksum does not match"));
}

#[test]
fn limits_are_named_and_hold_before_memory_is_taken() {
    let limits = Limits {
        path_bytes: 10,
        record_bytes: 60,
        segments: 1,
        trailing_bytes: 3,
    };
    let file = |path: &str| TarEntry::file(path, "");
    let record = |length| file("a").record("comment", vec![b'x'; length]);
    let map = |map| file("a").record("GNU.sparse.map", map);
    let cases = [
        (Limit::Path, file("0123456789"), file("0123456789a")),
        (Limit::Record, record(40), record(60)),
        (Limit::Segments, map("0,0"), map("0,0,0,0")),
    ];
    for (limit, fitting, beyond) in cases {
        let read = |entry| read_with(&TarBuilder::archive([entry]), limits);
        assert!(read(fitting).is_ok(), "{limit:?}");
        match read(beyond) {
            Err(ReadError::Limit { source, .. }) => assert_eq!(source.limit, limit),
            other => panic!("{limit:?}: {other:?}"),
        }
    }
    let end = TarBuilder::archive([file("a")]);
    assert!(read_with(&[&end[..], b"abc"].concat(), limits).is_ok());
    let error = read_with(&[&end[..], b"abcd"].concat(), limits).expect_err("too long");
    let expected = "it exceeds a limit at byte 1540: more than 3 bytes follow the archive's end";
    assert_eq!(message(&error), expected);

    // A header that claims more than exists, and more than is allowed, costs no memory.
    let mut block = TarEntry::new(b'x', "a").header(0);
    block[124..136].copy_from_slice(b"77777777777\0");
    TarBuilder::seal(&mut block);
    let error = read(&block).expect_err("it is to be refused");
    assert!(matches!(error, ReadError::Limit { .. }), "{error:?}");
}

#[test]
fn content_is_read_as_far_as_the_entry_goes() {
    let tar = TarBuilder::archive([TarEntry::file("a", "1234"), TarEntry::file("b", "5")]);
    let mut archive = ArchiveReader::new(&tar[..], Limits::default());
    archive.next_entry().expect("valid").expect("an entry");
    let mut two = [0; 2];
    archive.content().read_exact(&mut two).expect("it is there");
    assert_eq!(&two, b"12");
    // Unread content is skipped.
    let entry = archive.next_entry().expect("valid").expect("an entry");
    assert_eq!((entry.path, entry.offset_bytes), (b"b".to_vec(), 1024));
}

#[test]
fn a_seekable_archive_has_the_same_entries_and_ends() {
    let tar = TarBuilder::archive([TarEntry::file("a", "1234"), TarEntry::file("b", "5")]);
    for length in [tar.len(), 1536 + 1, 512 + 3, 512 + 4] {
        let tar = &tar[..length];
        let mut read = ArchiveReader::new(tar, Limits::default());
        let mut sought = ArchiveReader::seekable(std::io::Cursor::new(tar), Limits::default());
        loop {
            match (read.next_entry(), sought.next_entry()) {
                (Ok(Some(one)), Ok(Some(other))) => assert_eq!(one, other),
                (Ok(None), Ok(None)) => break,
                (Err(one), Err(other)) => {
                    assert_eq!(one.to_string(), other.to_string());
                    break;
                }
                (one, other) => panic!("{length}: {one:?} and {other:?}"),
            }
            assert_eq!(read.offset_bytes(), sought.offset_bytes());
        }
    }
}
