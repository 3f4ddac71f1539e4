use snapshot_file::{Part, ReadError};

use crate::sample::{archive, disk, images, read};

#[test]
fn a_flipped_bit_anywhere_is_found() {
    let whole = archive(&disk());
    read(&whole).expect("whole");
    for index in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[index] ^= 1 << (index % 8);
        let error = read(&flipped).expect_err("damaged");
        assert!(
            matches!(
                error,
                ReadError::Damaged { .. }
                    | ReadError::NotAnArchive
                    | ReadError::Truncated { .. }
                    | ReadError::TooLarge { .. }
            ),
            "byte {index}: {error:?}"
        );
    }
}

#[test]
fn an_archive_that_ends_early_or_late_is_refused() {
    let whole = archive(&disk());
    for length in 0..whole.len() {
        let error = read(&whole[..length]).expect_err("cut");
        assert!(
            matches!(error, ReadError::Truncated { .. } | ReadError::NotAnArchive),
            "{length} bytes: {error:?}"
        );
    }
    let longer = [&whole[..], b"\0"].concat();
    let error = read(&longer).expect_err("longer");
    assert!(
        matches!(
            error,
            ReadError::Damaged {
                part: Part::End,
                ..
            }
        ),
        "{error:?}"
    );
    let twice = [&whole[..], &whole].concat();
    read(&twice).expect_err("two archives");
}

#[test]
fn a_flipped_byte_of_an_image_is_reported_by_its_name() {
    let tar = zstd::stream::decode_all(&archive(&disk())[..]).expect("a frame");
    for (number, image) in images().iter().enumerate() {
        let mut places = tar.windows(image.len());
        let start = places.position(|bytes| bytes == image).expect("there");
        for index in [0, image.len() / 2, image.len() - 1] {
            let mut flipped = tar.clone();
            flipped[start + index] ^= 1;
            let frame = zstd::bulk::compress(&flipped, 3).expect("compressed");
            let Err(ReadError::Damaged { part, .. }) = read(&frame) else {
                panic!("image {number}, byte {index}");
            };
            assert_eq!(part, Part::Image(number), "byte {index}");
        }
    }
}
