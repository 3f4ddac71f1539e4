use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use fstree::ReadAt;
use packed_file::{GROUP_BYTES, OpenError, PackedFile};

use crate::content::{Run, bytes_of, packed};

/// Returns a plain file whose packed one is short: text, zeros, noise, and a last group that is not full.
fn plain() -> Vec<u8> {
    let mut plain = bytes_of(&Run::Text(GROUP_BYTES));
    plain.extend(bytes_of(&Run::Zeros(GROUP_BYTES)));
    plain.extend(bytes_of(&Run::Text(GROUP_BYTES - 100)));
    plain.extend(bytes_of(&Run::Noise(1, 100)));
    plain.extend(b"the end");
    plain
}

/// Reads every group, each of which is right or an error. Returns the number of errors.
fn errors(bytes: Vec<u8>, checksum: &[u8; 32], plain: &[u8]) -> usize {
    let file = match PackedFile::open(bytes, Some(checksum)) {
        Ok(file) => file,
        Err(_) => return 1,
    };
    assert_eq!(file.plain_bytes(), plain.len() as u64);
    let groups = plain.chunks(GROUP_BYTES).enumerate();
    let wrong = groups.filter(|(number, group)| {
        let mut found = vec![7; group.len()];
        let read = file.read(&mut found, (number * GROUP_BYTES) as u64);
        match read {
            Ok(()) => assert!(found == **group, "group {number} has other bytes"),
            Err(_) => assert!(found.iter().all(|byte| *byte == 0 || *byte == 7)),
        }
        read.is_err()
    });
    wrong.count()
}

#[test]
fn a_flipped_bit_at_any_byte_gives_an_error_or_the_right_bytes() {
    let plain = plain();
    let (bytes, made) = packed(&plain);
    assert!(bytes.len() < 1000, "{}", bytes.len());
    assert_eq!(errors(bytes.clone(), &made.checksum, &plain), 0);
    let frames_end = bytes.len() - 96 - 40 - 4 * 36;
    for index in 0..bytes.len() {
        for flip in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
            let mut wrong = bytes.clone();
            wrong[index] ^= flip;
            let errors = errors(wrong, &made.checksum, &plain);
            // Bits of a frame's header may mean nothing; all else is proven.
            assert!(
                errors > 0 || index < frames_end,
                "byte {index} of {}",
                bytes.len()
            );
        }
    }
}

#[test]
fn a_file_that_is_cut_at_any_byte_is_refused() {
    let (bytes, made) = packed(&plain());
    for length in 0..bytes.len() {
        let cut = bytes[..length].to_vec();
        assert!(
            PackedFile::open(cut, Some(&made.checksum)).is_err(),
            "{length}"
        );
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(PackedFile::open(longer, None).is_err());
    let mut shifted = vec![0];
    shifted.extend(&bytes);
    assert!(PackedFile::open(shifted, None).is_err());
}

#[test]
fn a_file_that_is_cut_while_it_is_open_gives_errors() {
    /// A file that ends earlier than it did when it was opened.
    struct Shrinking(Vec<u8>, AtomicU64);
    impl ReadAt for Shrinking {
        fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
            if offset_bytes + buf.len() as u64 > self.1.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.0.read_exact_at(buf, offset_bytes)
        }
        fn size_bytes(&self) -> io::Result<u64> {
            Ok(self.1.load(Ordering::Relaxed))
        }
    }
    let plain = plain();
    let (bytes, made) = packed(&plain);
    let length = bytes.len() as u64;
    let shrinking = Shrinking(bytes, AtomicU64::new(length));
    let file = PackedFile::open(&shrinking, Some(&made.checksum)).unwrap();
    shrinking.1.store(0, Ordering::Relaxed);
    let mut found = vec![7; plain.len()];
    file.read(&mut found, 0).unwrap_err();
    shrinking.1.store(length, Ordering::Relaxed);
    file.read(&mut found, 0).unwrap();
    assert!(found == plain);
}

#[test]
fn foreign_versions_are_refused_by_number() {
    let (bytes, _) = packed(&plain());
    let offset = bytes.len() - 16;
    for version in [0_u32, 2, 7, u32::MAX] {
        let mut other = bytes.clone();
        other[offset..offset + 4].copy_from_slice(&version.to_le_bytes());
        match PackedFile::open(other, None) {
            Err(error @ OpenError::Version { found, known: 1 }) if found == version => {
                assert!(error.to_string().contains(&version.to_string()));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn other_files_are_refused() {
    for other in [&b""[..], b"text", &[0; 96], &[0; 100_000]] {
        let opened = PackedFile::open(other.to_vec(), None);
        assert!(matches!(opened, Err(OpenError::NotPacked)), "{opened:?}");
    }
}

#[test]
fn the_file_of_another_content_is_refused() {
    let (bytes, made) = packed(b"this content");
    let other = *blake3::hash(b"that content").as_bytes();
    let error = PackedFile::open(bytes, Some(&other)).unwrap_err();
    assert!(matches!(error, OpenError::OtherContent { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains(&blake3::Hash::from_bytes(made.checksum).to_string())
    );
}
