use snapshot_file::ReadError;

use crate::sample::{archive, disk, read};

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
                part: "its end",
                ..
            }
        ),
        "{error:?}"
    );
    let twice = [&whole[..], &whole].concat();
    read(&twice).expect_err("two archives");
}
