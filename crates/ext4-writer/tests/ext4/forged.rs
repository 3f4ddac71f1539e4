//! Disks whose few blocks are used again and again, so that they read as gigabytes.

use std::fs::File;

use ext4_writer::{Image, METADATA_MAX_BYTES};
use testkit::ForgedExt4;

/// The environment variable of the process whose memory is measured.
const IN_CHILD: &str = "EXT4_FORGED_CHILD";

/// Returns the error of reading a forged disk within a limit; empty if it succeeds.
fn refusal(forged: ForgedExt4, metadata_bytes: u64) -> String {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    forged.write(file.path()).expect("e2fsprogs are installed");
    let disk = File::open(file.path()).expect("opened");
    let image = match Image::open_within(disk, metadata_bytes) {
        Ok(image) => image,
        Err(error) => return format!("{error:?}"),
    };
    let tree = image.read_tree();
    tree.err()
        .map_or_else(String::new, |error| format!("{error:?}"))
}

#[test]
fn oracle_blocks_that_are_used_again_are_damage() {
    for (forged, fault) in [
        (ForgedExt4::OverlappingXattrs(20), "XattrOverlap"),
        (ForgedExt4::RepeatedNames(2), "DuplicateName"),
        (ForgedExt4::RepeatedNames(100_000), "DuplicateName"),
        (ForgedExt4::RepeatedRevocations(2), "Overlap"),
        (ForgedExt4::RepeatedRevocations(100_000), "Overlap"),
    ] {
        let error = refusal(forged, METADATA_MAX_BYTES);
        assert!(error.contains(fault), "{forged:?}: {error}");
    }
}

#[test]
fn oracle_metadata_beyond_the_limit_is_refused() {
    // 500 files with 4,000 bytes each.
    let shared = ForgedExt4::SharedXattrs(500);
    assert_eq!(refusal(shared, 4 << 20), "");
    let error = refusal(shared, 1 << 20);
    assert!(error.contains("Memory { limit_bytes: 1048576 }"), "{error}");
    // A directory of one block is intact, its names are not too many for any limit but this.
    assert_eq!(refusal(ForgedExt4::RepeatedNames(1), 1 << 20), "");
    let error = refusal(ForgedExt4::RepeatedNames(1), 20 << 10);
    assert!(error.contains("Memory"), "{error}");
}

#[test]
fn oracle_a_revoked_number_is_kept_once() {
    let revoked = ForgedExt4::CopiedRevocations(1000);
    // The map of the journal has 1,000 extents, and 1,020 numbers are revoked.
    assert_eq!(refusal(revoked, 96 << 10), "");
    let error = refusal(revoked, 40 << 10);
    assert!(error.contains("Memory"), "{error}");
}

/// The reading of the largest disks is the most memory that the process ever has.
#[test]
fn oracle_forged_disks_take_little_memory() {
    let test = "child_that_reads_forged_disks";
    let peak = testkit::peak_bytes_of_child(test, IN_CHILD);
    assert!(peak < 128 << 20, "{peak}");
}

#[test]
fn child_that_reads_forged_disks() {
    if std::env::var_os(IN_CHILD).is_none() {
        return;
    }
    for forged in [
        ForgedExt4::OverlappingXattrs(1000),
        ForgedExt4::SharedXattrs(1000),
        ForgedExt4::RepeatedNames(400_000),
        ForgedExt4::RepeatedRevocations(350_000),
    ] {
        refusal(forged, METADATA_MAX_BYTES);
    }
    testkit::tell_own_peak();
}
