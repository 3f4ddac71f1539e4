use std::io;

use fstree::{Device, Metadata, Segment, Timestamp, Xattrs};
use proptest::prelude::*;
use tar_stream::{ArchiveWriter, EntryHeader, EntryKind, WriteError};

use crate::{message, read};

fn path() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(1..=255_u8, 1..300)
        .prop_filter("no directory", |path| path.last() != Some(&b'/'))
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let xattrs = prop::collection::btree_map("user\\.[a-z%\n]{1,9}", any::<Vec<u8>>(), 0..4);
    let time = (any::<i32>(), 0..1_000_000_000_u32);
    let owner = || 0..u32::MAX;
    (0..0o10_000_u16, owner(), owner(), time, xattrs).prop_map(|(mode, uid, gid, time, xattrs)| {
        Metadata {
            mode,
            uid,
            gid,
            mtime: Timestamp {
                seconds: i64::from(time.0) * 5,
                nanoseconds: time.1,
            },
            xattrs: Xattrs::from_iter(xattrs),
        }
    })
}

/// Returns all kinds but directories, whose names get a slash, and regular files.
fn kind() -> impl Strategy<Value = EntryKind> {
    let device = (0..1_u32 << 12, 0..1_u32 << 20);
    let device = device.prop_map(|(major, minor)| Device { major, minor });
    prop_oneof![
        Just(EntryKind::Symlink),
        Just(EntryKind::Hardlink),
        Just(EntryKind::Fifo),
        device.clone().prop_map(EntryKind::CharDevice),
        device.prop_map(EntryKind::BlockDevice),
    ]
}

/// Returns pairs of a hole's length and the length of the data behind it.
fn stretches() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0..3000_u64, 1..3000_u64), 0..5)
}

proptest! {
    #[test]
    fn entries_come_back_as_they_were_written(
        entries in prop::collection::vec((path(), path(), kind(), metadata()), 0..4),
    ) {
        let mut archive = ArchiveWriter::new(Vec::new());
        for (path, link, kind, metadata) in &entries {
            let link = if matches!(kind, EntryKind::Symlink | EntryKind::Hardlink) { &link[..] } else { b"" };
            let header = EntryHeader { path, kind: *kind, link, metadata };
            archive.entry(&header).expect("memory does not fail");
        }
        let tar = archive.finish().expect("memory does not fail");
        let back = read(&tar).map_err(|error| TestCaseError::fail(message(&error)))?;
        prop_assert_eq!(back.len(), entries.len());
        for ((entry, content), (path, link, kind, metadata)) in back.iter().zip(&entries) {
            prop_assert_eq!(&entry.path, path);
            prop_assert_eq!(&entry.kind, kind);
            prop_assert_eq!(&entry.metadata, metadata);
            if matches!(kind, EntryKind::Symlink | EntryKind::Hardlink) {
                prop_assert_eq!(&entry.link, link);
            }
            prop_assert!(content.is_empty() && entry.segments.is_empty());
        }
    }

    #[test]
    fn files_come_back_with_their_holes(path in path(), stretches in stretches(), end in 0..2000_u64) {
        let (mut segments, mut size_bytes) = (Vec::new(), 0);
        for (hole_bytes, length_bytes) in stretches {
            let offset_bytes = size_bytes + hole_bytes;
            segments.push(Segment { offset_bytes, length_bytes });
            size_bytes = offset_bytes + length_bytes;
        }
        size_bytes += end;
        let byte_at = |offset: u64| u8::try_from(offset % 251).expect("it is below 251");
        let metadata = Metadata::with_mode(0o600);
        let header = EntryHeader { path: &path, kind: EntryKind::Regular, link: b"", metadata: &metadata };
        let mut archive = ArchiveWriter::new(Vec::new());
        let mut read_at = |offset_bytes, buffer: &mut [u8]| {
            for (offset, byte) in (offset_bytes..).zip(buffer) {
                *byte = byte_at(offset);
            }
            Ok(())
        };
        archive.file(&header, size_bytes, segments.clone(), &mut read_at).expect("memory does not fail");
        let tar = archive.finish().expect("memory does not fail");

        let back = read(&tar).map_err(|error| TestCaseError::fail(message(&error)))?;
        let (entry, content) = &back[0];
        prop_assert_eq!((&entry.path, entry.size_bytes), (&path, size_bytes));
        let joined = |segments: &[Segment]| -> Vec<u64> {
            let bytes = segments.iter().flat_map(|one| one.offset_bytes..one.offset_bytes + one.length_bytes);
            bytes.collect()
        };
        prop_assert_eq!(joined(&entry.segments), joined(&segments));
        let expected: Vec<u8> = joined(&segments).into_iter().map(byte_at).collect();
        prop_assert_eq!(content, &expected);
    }
}

#[test]
fn what_no_archive_can_store_is_refused_and_named() {
    let refused = |kind, metadata: &Metadata| {
        let header = EntryHeader {
            path: b"a",
            kind,
            link: b"",
            metadata,
        };
        let error = ArchiveWriter::new(Vec::new()).entry(&header);
        error.expect_err("it is to be refused").to_string()
    };
    let device = Device {
        major: 1 << 21,
        minor: 0,
    };
    let error = refused(EntryKind::CharDevice(device), &Metadata::default());
    assert!(error.contains("2097152:0 of 'a'"), "{error}");
    let metadata = Metadata {
        xattrs: Xattrs::from_iter([("user.a=b", "1")]),
        ..Metadata::default()
    };
    let error = refused(EntryKind::Fifo, &metadata);
    assert!(error.contains("'user.a=b' of 'a'"), "{error}");
}

#[test]
fn a_content_that_fails_is_told_from_an_output_that_does() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let metadata = Metadata::default();
    let header = EntryHeader {
        path: b"a",
        kind: EntryKind::Regular,
        link: b"",
        metadata: &metadata,
    };
    let mut unreadable = |_, _: &mut [u8]| Err(io::ErrorKind::NotFound.into());
    let whole = || Segment::whole_file(1);
    let error = ArchiveWriter::new(Vec::new()).file(&header, 1, whole(), &mut unreadable);
    assert!(
        matches!(error, Err(WriteError::Content { .. })),
        "{error:?}"
    );
    let error = ArchiveWriter::new(Full).file(&header, 1, whole(), &mut unreadable);
    assert!(matches!(error, Err(WriteError::Output(_))), "{error:?}");
}
