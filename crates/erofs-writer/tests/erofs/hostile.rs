//! Damaged images end in an error, or in something, but never in a panic.

use std::fmt;

use erofs_writer::Image;
use proptest::prelude::*;

use crate::model::Built;
use crate::samples;

/// A place for text that nobody reads.
struct Nowhere;

impl fmt::Write for Nowhere {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}

/// Reads all there is to read. Gives whether all of it was sound.
fn read_everything(bytes: &[u8]) -> bool {
    let Ok(image) = Image::open(bytes) else {
        return false;
    };
    let tree = image.read_tree();
    let report = image.verify();
    let dump = image.dump(&mut Nowhere);
    tree.is_ok() && report.is_ok() && dump.is_ok()
}

/// The image without a checksum, so that a flipped bit does not end at the door.
fn unsealed(mut image: Vec<u8>) -> Vec<u8> {
    image[1024 + 8] &= !1;
    image
}

#[test]
fn a_checksum_guards_the_first_block() {
    let built = Built::of(samples::one_of_each(), 0);
    for offset in 1024..4096 {
        let mut image = built.image.clone();
        image[offset] ^= 1;
        // Without the bit that announces it there is no checksum to fail.
        assert!(
            offset == 1032 || Image::open(image).is_err(),
            "byte {offset}"
        );
    }
}

#[test]
fn a_truncated_image_does_not_verify() {
    let image = Built::of(samples::one_of_each(), 0).image;
    assert!(read_everything(&image));
    for length in (0..image.len()).step_by(509) {
        assert!(!read_everything(&image[..length]), "{length} bytes");
    }
}

#[test]
fn every_single_byte_may_be_wrong() {
    for built in [
        Built::of(samples::one_of_each(), 0),
        Built::of(samples::on_devices(), 3),
    ] {
        let image = unsealed(built.image);
        assert!(read_everything(&image));
        // Odd steps reach every field of what repeats.
        for offset in (1024..image.len()).step_by(3) {
            for value in [0, 0xFF, image[offset] ^ 1, image[offset].wrapping_add(32)] {
                let mut changed = image.clone();
                changed[offset] = value;
                read_everything(&changed);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn many_bytes_may_be_wrong(changes in prop::collection::vec((1024_usize..28_000, any::<u8>()), 1..40)) {
        let mut image = unsealed(Built::of(samples::one_of_each(), 0).image);
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
