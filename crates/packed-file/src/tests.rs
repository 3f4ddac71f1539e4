//! Files that are forged with a valid seal, as whoever can write a file can make them.

use zerocopy::IntoBytes as _;

use crate::error::{Damaged, Fault, OpenError, Part, ReadError};
use crate::format::{DirectoryEntry, EndRecord, MAGIC, SIZE_MAX_BYTES, VERSION};
use crate::fuzzing::sealed;
use crate::value::{GROUP_BYTES, Value, group_value};
use crate::{PackedFile, wide};

/// Returns a file of one section with these frames, stated lengths and values.
fn forged(size_bytes: u64, frames: &[u8], lengths: &[u32], values: &[Value]) -> Vec<u8> {
    let mut bytes = frames.to_vec();
    bytes.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
    bytes.extend(values.as_bytes());
    let entry = DirectoryEntry {
        table_offset_bytes: wide(frames.len()).into(),
        value: Value::default(),
    };
    let end = EndRecord {
        size_bytes: size_bytes.into(),
        directory_offset_bytes: wide(bytes.len()).into(),
        checksum: Value::default(),
        seal: [0; 32],
        version: VERSION.into(),
        magic: MAGIC,
    };
    bytes.extend(entry.as_bytes());
    bytes.extend(end.as_bytes());
    sealed(&bytes).expect("the table is in the file")
}

/// Returns the fault of the first read, which has to be in this part.
fn fault(bytes: Vec<u8>, part: Part) -> Fault {
    let file = PackedFile::open(bytes, None).expect("its end is right");
    let mut group = [7; GROUP_BYTES];
    let length = group.len().min(crate::narrow(file.plain_bytes()));
    match file.read(&mut group[..length], 0) {
        Err(ReadError::Damaged(Damaged {
            part: found, fault, ..
        })) if found == part => {
            assert!(group[..length].iter().all(|byte| [0, 7].contains(byte)));
            fault
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_forged_file_with_right_values_is_read() {
    let text = b"text".as_slice();
    let bytes = forged(4, text, &[4], &[*blake3::hash(text).as_bytes()]);
    let file = PackedFile::open(bytes, Some(blake3::hash(text).as_bytes())).unwrap();
    let mut found = [0; 4];
    file.read(&mut found, 0).unwrap();
    assert_eq!(&found, text);
}

#[test]
fn a_frame_that_decompresses_to_too_much_is_refused() {
    let bomb = zstd::bulk::compress(&vec![1; 64 << 20], 1).unwrap();
    let length = u32::try_from(bomb.len()).unwrap();
    let size_bytes = wide(GROUP_BYTES);
    let fault = fault(
        forged(size_bytes, &bomb, &[length], &[[1; 32]]),
        Part::Frame(0),
    );
    let is_named = matches!(
        fault,
        Fault::Compression {
            limit: GROUP_BYTES,
            ..
        }
    );
    assert!(is_named, "{fault}");
}

#[test]
fn a_frame_that_decompresses_to_less_is_refused() {
    let frame = zstd::bulk::compress(&[1; 60_000], 1).unwrap();
    let length = u32::try_from(frame.len()).unwrap();
    let bytes = forged(wide(GROUP_BYTES), &frame, &[length], &[[1; 32]]);
    let expected = Fault::Short {
        found: 60_000,
        expected: GROUP_BYTES,
    };
    assert_eq!(fault(bytes, Part::Frame(0)), expected);
}

#[test]
fn two_frames_in_the_place_of_one_do_not_change_the_content() {
    let mut frames = zstd::bulk::compress(&[1; 30_000], 1).unwrap();
    frames.extend(zstd::bulk::compress(&[1; 35_536], 1).unwrap());
    let length = u32::try_from(frames.len()).unwrap();
    let wrong = forged(wide(GROUP_BYTES), &frames, &[length], &[[1; 32]]);
    assert_eq!(fault(wrong, Part::Frame(0)), Fault::Value);
}

#[test]
fn a_frame_that_is_longer_than_its_group_is_refused() {
    let bytes = forged(4, b"texts", &[5], &[[1; 32]]);
    let expected = Fault::FrameLength {
        group: 0,
        found: 5,
        limit: 4,
    };
    assert_eq!(fault(bytes, Part::Table(0)), expected);
    let bytes = forged(4, b"text", &[u32::MAX], &[[1; 32]]);
    let expected = Fault::FrameLength {
        group: 0,
        found: u32::MAX,
        limit: 4,
    };
    assert_eq!(fault(bytes, Part::Table(0)), expected);
}

#[test]
fn lengths_that_do_not_fill_the_space_of_the_frames_are_refused() {
    for length in [0, 1, 3] {
        let bytes = forged(4, b"text", &[length], &[[1; 32]]);
        let expected = Fault::Frames {
            found: length.into(),
            expected: 4,
        };
        assert_eq!(fault(bytes, Part::Table(0)), expected);
    }
}

#[test]
fn zeros_in_the_place_of_other_bytes_are_refused() {
    let value = *blake3::hash(b"text").as_bytes();
    assert_eq!(
        fault(forged(4, b"", &[0], &[value]), Part::Frame(0)),
        Fault::Value
    );
}

#[test]
fn values_of_other_bytes_are_refused() {
    let group = vec![1; GROUP_BYTES];
    let (first, second) = (
        group_value(&group, 0, false),
        group_value(&group, 65_536, false),
    );
    let frame = zstd::bulk::compress(&group, 1).unwrap();
    let length = u32::try_from(frame.len()).unwrap();
    let frames = [&frame[..], &frame[..]].concat();
    let size_bytes = 2 * wide(GROUP_BYTES);
    let right = forged(size_bytes, &frames, &[length; 2], &[first, second]);
    let mut found = vec![0; 2 * GROUP_BYTES];
    let file = PackedFile::open(right.clone(), None).unwrap();
    file.read(&mut found, 0).unwrap();
    assert_eq!(file.checksum(), blake3::hash(&found).as_bytes());
    // The values exchanged below a directory that names the right ones.
    let mut wrong = right;
    let values = frames.len() + 8..frames.len() + 72;
    wrong[values].copy_from_slice([second, first].as_bytes());
    assert_eq!(fault(wrong, Part::Table(0)), Fault::Value);
}

#[test]
fn places_outside_of_the_file_are_refused() {
    let right = forged(4, b"text", &[4], &[*blake3::hash(b"text").as_bytes()]);
    let (directory, end) = (right.len() - 136, right.len() - 96);
    for (offset, name) in [(directory, "table"), (end + 8, "directory")] {
        for place in [0, 1, 3, 5, 1 << 40, u64::MAX - 40, u64::MAX] {
            let mut wrong = right.clone();
            wrong[offset..][..8].copy_from_slice(&place.to_le_bytes());
            // A table that does not lie in the file has no values to be sealed with.
            let wrong = sealed(&wrong).unwrap_or(wrong);
            let error = PackedFile::open(wrong, None).unwrap_err();
            assert!(
                matches!(error, OpenError::Damaged(_)),
                "{name} at {place}: {error}"
            );
        }
    }
}

#[test]
fn a_size_that_the_file_cannot_have_is_refused_before_memory_is_taken() {
    let right = forged(4, b"text", &[4], &[*blake3::hash(b"text").as_bytes()]);
    let end = right.len() - 96;
    let with_size = |size_bytes: u64| {
        let mut wrong = right.clone();
        wrong[end..][..8].copy_from_slice(&size_bytes.to_le_bytes());
        PackedFile::open(wrong, None).unwrap_err()
    };
    for size_bytes in [SIZE_MAX_BYTES + 1, u64::MAX] {
        let error = with_size(size_bytes);
        assert!(matches!(error, OpenError::TooLarge { .. }), "{error}");
        assert!(error.to_string().contains(&size_bytes.to_string()));
    }
    for size_bytes in [0, 3, 5, 65_537, SIZE_MAX_BYTES] {
        let error = with_size(size_bytes);
        assert!(
            matches!(error, OpenError::Damaged(_)),
            "{size_bytes}: {error}"
        );
    }
}
