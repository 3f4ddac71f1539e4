//! Damaged images: reading ends with an error or with some result, but never with a panic.

use std::fmt;
use std::io::{self, Read};

use erofs_writer::{Builder, FileData, Image, Options, ReadAt, ReadError};
use fstree::{FileKind, Metadata, Tree};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::foreign;
use crate::model::Built;
use crate::samples;

/// Number of bytes that are read of each file: a size may be any number.
const CONTENT_BYTES: u64 = 8192;

/// An output that discards its text.
struct Nowhere;

impl fmt::Write for Nowhere {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}

/// Reads everything in the image. Returns true if all of it was sound.
fn read_everything(bytes: &[u8]) -> bool {
    let Ok(image) = Image::open(bytes) else {
        return false;
    };
    let tree = image.read_tree();
    let report = image.verify();
    let dump = image.dump(&mut Nowhere);
    let content = tree.as_ref().is_ok_and(|tree| read_files(&image, tree));
    content && report.is_ok() && dump.is_ok()
}

/// Reads the beginning of every file. Returns true if nothing failed.
fn read_files(image: &Image<&[u8]>, tree: &Tree<FileData>) -> bool {
    let files = tree.walk().filter_map(|entry| match &entry.inode.kind {
        FileKind::Regular(data) => Some(data),
        _ => None,
    });
    let devices: [&dyn ReadAt; 3] = [&[0_u8; 4096].as_slice(), &[].as_slice(), &[].as_slice()];
    let mut is_sound = true;
    for data in files {
        for devices in [&devices[..], &[]] {
            let mut beginning = image.file_reader(data, devices).take(CONTENT_BYTES);
            is_sound &= io::copy(&mut beginning, &mut io::sink()).is_ok() || !devices.is_empty();
        }
    }
    is_sound
}

/// Returns the image without a checksum, so that a flipped bit is not refused early.
fn unsealed(mut image: Vec<u8>) -> Vec<u8> {
    image[1024 + 8] &= !1;
    image
}

#[test]
fn a_checksum_guards_the_first_block() {
    let built = Built::write(samples::one_of_each(), 0);
    for offset in 1024..4096 {
        let mut image = built.image.clone();
        image[offset] ^= 1;
        // Without the bit that announces it, there is no checksum to fail.
        assert!(
            offset == 1032 || Image::open(image).is_err(),
            "byte {offset}"
        );
    }
}

#[test]
fn a_truncated_image_does_not_verify() {
    let image = Built::write(samples::one_of_each(), 0).image;
    assert!(read_everything(&image));
    for length in (0..image.len()).step_by(509) {
        assert!(!read_everything(&image[..length]), "{length} bytes");
    }
}

#[test]
fn every_single_byte_may_be_wrong() {
    for built in [
        Built::write(samples::one_of_each(), 0),
        Built::write(samples::on_devices(), 3),
    ] {
        let image = unsealed(built.flat());
        assert!(read_everything(&image));
        // Odd steps reach every field of repeated structures.
        for offset in (1024..built.image.len()).step_by(7) {
            for value in [0, 0xFF, image[offset] ^ 1, image[offset].wrapping_add(32)] {
                let mut changed = image.clone();
                changed[offset] = value;
                read_everything(&changed);
            }
        }
    }
}

#[test]
fn no_more_metadata_is_read_than_the_limit() {
    let mut builder = Builder::new(io::Cursor::new(Vec::new()), Options::default()).unwrap();
    for number in 0..1000 {
        let path = format!("d/{number}");
        builder
            .file(path, Metadata::with_mode(0o644), &mut &b""[..])
            .unwrap();
    }
    let image = builder.finish().unwrap().0.into_inner();
    let read = |limit_bytes| {
        let image = Image::open_within(&image[..], limit_bytes).unwrap();
        image.read_tree()
    };
    assert_eq!(read(1 << 20).unwrap().len(), 1002);
    let error = read(10_000).unwrap_err();
    assert!(
        matches!(
            error,
            ReadError::Memory {
                limit_bytes: 10_000
            }
        ),
        "{error:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn many_bytes_may_be_wrong(changes in prop::collection::vec((1024_usize..28_000, any::<u8>()), 1..40)) {
        let mut image = unsealed(Built::write(samples::one_of_each(), 0).image);
        for (offset, value) in changes {
            let offset = offset % image.len();
            image[offset] = value;
        }
        read_everything(&image);
    }

    #[test]
    fn noise_is_no_image(mut bytes in prop::collection::vec(any::<u8>(), 4096..9000)) {
        bytes[1024..1028].copy_from_slice(&0xE0F5_E1E2_u32.to_le_bytes());
        bytes[1032] &= !1;
        bytes[1036] = 12;
        bytes[1104..1108].fill(0);
        bytes[1113] = 0;
        read_everything(&bytes);
    }
}

/// The images have inline data, chunk maps and shared xattrs in the layout of mkfs.erofs.
#[test]
fn oracle_mkfs_images_may_be_wrong() {
    let cases = std::env::var("MSB_EROFS_MUTATIONS").map_or(100, |text| text.parse().unwrap());
    let images = foreign::small_images();
    for image in &images {
        assert!(read_everything(image));
    }
    let mut runner = TestRunner::new(ProptestConfig::with_cases(cases));
    let change = (any::<prop::sample::Index>(), interesting());
    let changes = prop::collection::vec(change, 1..12);
    let which = 0..images.len();
    let result = runner.run(&(which, changes), |(which, changes)| {
        let mut image = unsealed(images[which].clone());
        for (place, bytes) in changes {
            let start = 1024 + place.index(image.len() - 1024 - bytes.len());
            // The bit that announces a checksum is deliberately left unchanged.
            if start != 1032 {
                image[start..start + bytes.len()].copy_from_slice(&bytes);
            }
        }
        read_everything(&image);
        Ok(())
    });
    result.unwrap();
}

/// Returns bytes that are a limit of some field, or any bytes.
fn interesting() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        any::<u16>().prop_map(|word| word.to_le_bytes().to_vec()),
        prop_oneof![Just(0), Just(u32::MAX), Just(1 << 31), 0..2000_u32]
            .prop_map(|word| word.to_le_bytes().to_vec()),
        prop_oneof![
            Just(u64::MAX),
            Just(1 << 63),
            Just((1 << 63) - 1),
            0..9000_u64
        ]
        .prop_map(|word| word.to_le_bytes().to_vec()),
    ]
}
