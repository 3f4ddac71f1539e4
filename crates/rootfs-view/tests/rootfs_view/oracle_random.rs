use std::fs;

use testkit::{RandomChanges, TreeDump};

use crate::image::write_disks;
use crate::{assert_same, mount_disks, view};

/// Runs rounds of changes to one upper disk, with a remount between rounds.
fn check(seed: u64) {
    let disks = tempfile::tempdir().expect("a temporary directory");
    write_disks(disks.path());
    let mut sequence = RandomChanges::new(seed);
    let mut changes = 0;
    for round in 0..3 {
        let mounts = mount_disks(disks.path());
        for _ in 0..40 {
            changes += u32::from(sequence.make(&mounts.root()));
        }
        let shown = TreeDump::from_directory(&mounts.root()).expect("readable");
        // A machine that is killed leaves its disk like this: synced, not unmounted.
        mounts.sync();
        let cut = tempfile::tempdir().expect("a temporary directory");
        for name in ["fsmeta.erofs", "upper.ext4"] {
            fs::copy(disks.path().join(name), cut.path().join(name)).expect("copied");
        }
        assert_same(
            &shown,
            &view(cut.path()),
            &format!("seed {seed}, round {round}, killed"),
        );
        drop(mounts);
        assert_same(
            &shown,
            &view(disks.path()),
            &format!("seed {seed}, round {round}"),
        );
    }
    assert!(changes > 40, "seed {seed}: only {changes} changes");
}

#[test]
fn oracle_random_changes() {
    for seed in 0..12 {
        check(seed);
    }
}
