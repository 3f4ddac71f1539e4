use std::io;

use fstree::ReadAt as _;
use packed_file::{GROUP_BYTES, PackError, PackedFile, pack};
use proptest::prelude::*;

use crate::content::{Run, bytes_of, packed, plain_files};

/// Returns the plain bytes of a packed file, group by group.
fn unpacked(bytes: &[u8], checksum: &[u8; 32]) -> Vec<u8> {
    let file = PackedFile::open(bytes.to_vec(), Some(checksum)).expect("it was just packed");
    let mut plain = Vec::new();
    let each = file.for_each_group(&mut |offset_bytes, group| {
        assert_eq!(offset_bytes, plain.len() as u64);
        plain.extend(group);
        Ok(())
    });
    each.expect("it is intact");
    assert_eq!(file.plain_bytes(), plain.len() as u64);
    plain
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_packed_file_unpacks_to_its_plain_file(plain in plain_files()) {
        let (bytes, made) = packed(&plain);
        prop_assert_eq!(made.checksum, *blake3::hash(&plain).as_bytes());
        prop_assert!(unpacked(&bytes, &made.checksum) == plain);
        prop_assert!(packed(&plain).0 == bytes);
    }

    #[test]
    fn any_range_is_that_of_the_plain_file(
        plain in plain_files(),
        ranges in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..20),
    ) {
        let (bytes, made) = packed(&plain);
        let file = PackedFile::open(bytes, Some(&made.checksum)).unwrap();
        for (one, other) in ranges {
            let (one, other) = (one.index(plain.len() + 1), other.index(plain.len() + 1));
            let range = one.min(other)..one.max(other);
            let mut found = vec![7; range.len()];
            file.read_exact_at(&mut found, range.start as u64).unwrap();
            prop_assert!(found == plain[range]);
        }
    }
}

#[test]
fn lengths_at_the_ends_of_groups_unpack() {
    for length in [
        0, 1, 4095, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073,
    ] {
        for run in [Run::Zeros(length), Run::Text(length), Run::Noise(1, length)] {
            let plain = bytes_of(&run);
            let (bytes, made) = packed(&plain);
            assert!(unpacked(&bytes, &made.checksum) == plain, "{run:?}");
        }
    }
}

#[test]
fn a_file_of_several_sections_unpacks() {
    // 256 MiB and three groups: a section of zeros, which have no frames, and a short one.
    let section_bytes = 4096 * GROUP_BYTES as u64;
    let end = bytes_of(&Run::Text(2 * GROUP_BYTES + 100));
    for zeros_bytes in [section_bytes - GROUP_BYTES as u64, section_bytes] {
        let plain = || io::Read::chain(io::Read::take(io::repeat(0), zeros_bytes), &end[..]);
        let mut bytes = Vec::new();
        let made = pack(plain(), &mut bytes).unwrap();
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut plain(), &mut hasher).unwrap();
        assert_eq!(made.checksum, *hasher.finalize().as_bytes());
        // 36 bytes a group, and some.
        assert!(bytes.len() < 150_000, "{}", bytes.len());
        let file = PackedFile::open(bytes, Some(&made.checksum)).unwrap();
        let mut found = vec![1; end.len() + 10];
        file.read(&mut found, zeros_bytes - 10).unwrap();
        assert!(found[..10] == [0; 10] && found[10..] == end);
    }
}

#[test]
fn a_section_that_is_full_at_the_end_unpacks() {
    let size_bytes = 4096 * GROUP_BYTES as u64;
    let mut bytes = Vec::new();
    let made = pack(io::Read::take(io::repeat(0), size_bytes), &mut bytes).unwrap();
    let file = PackedFile::open(bytes, Some(&made.checksum)).unwrap();
    assert_eq!(file.plain_bytes(), size_bytes);
    let mut found = [1; 100];
    file.read(&mut found, size_bytes - 100).unwrap();
    assert_eq!(found, [0; 100]);
}

#[test]
fn bytes_that_do_not_shrink_are_kept_as_they_are() {
    let plain = bytes_of(&Run::Noise(1, 3 * GROUP_BYTES));
    let (bytes, _) = packed(&plain);
    assert_eq!(bytes.len(), plain.len() + 3 * 36 + 40 + 96);
    assert_eq!(bytes[..plain.len()], plain);
}

#[test]
fn pieces_of_any_length_are_packed_alike() {
    /// A file that gives 1,000 bytes at a time, and is interrupted before each.
    struct Pieces<'a>(&'a [u8], bool);
    impl io::Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let length = buffer.len().min(1000);
            self.0.read(&mut buffer[..length])
        }
    }
    let plain = bytes_of(&Run::Text(150_000));
    let mut bytes = Vec::new();
    pack(Pieces(&plain, false), &mut bytes).unwrap();
    assert_eq!(bytes, packed(&plain).0);
}

#[test]
fn failures_of_both_sides_are_told_apart() {
    struct Broken;
    impl io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("input"))
        }
    }
    impl io::Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    assert!(matches!(pack(Broken, io::sink()), Err(PackError::Input(_))));
    assert!(matches!(
        pack(&b"text"[..], Broken),
        Err(PackError::Output(_))
    ));
}
