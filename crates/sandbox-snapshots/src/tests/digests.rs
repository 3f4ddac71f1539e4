//! Digests of what snapshots have: taken, and compared.

use std::time::Duration;

use durable_files::flock;
use fs_err as fs;
use msb_runtime::{Home, UpperPool};

use super::{change, named, names, sandbox};
use crate::{Cause, SandboxSnapshots, SnapshotConsistency, SnapshotContent, SnapshotError};

#[test]
fn digests_are_taken_in_the_background_by_one_process_at_a_time() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 8192]);
    let taken = || {
        let mut prepared = 0;
        let taken = sandbox.maintain(Duration::ZERO, || prepared += 1);
        taken.expect("taken");
        assert_eq!(prepared, 1);
        let verified = sandbox.verify_snapshots(&[]).expect("verified");
        let contents = verified.into_iter().map(|one| one.content.expect("whole"));
        contents.collect::<Vec<_>>()
    };
    assert_eq!(taken(), []);
    sandbox.create_snapshot(named("a")).expect("taken");
    change(&sandbox, &[1; 4096], 0);
    sandbox.create_snapshot(named("b")).expect("taken");
    assert_eq!(taken(), [SnapshotContent::Intact; 2]);

    change(&sandbox, &[2; 4096], 0);
    sandbox.create_snapshot(named("c")).expect("taken");
    let other = fs::File::open(sandbox.files.snapshots()).expect("opened");
    assert!(flock::try_once(&other, flock::Kind::Exclusive).expect("locked"));
    let [
        SnapshotContent::Intact,
        SnapshotContent::Intact,
        SnapshotContent::Recorded,
    ] = taken()[..]
    else {
        panic!("the other process takes the digest of c");
    };
}

#[test]
fn a_snapshot_of_a_command_that_comes_meanwhile_makes_an_older_one_expire() {
    let root = tempfile::tempdir().expect("a directory");
    let mut sandbox = sandbox(&Home::new(root.path()), &[7; 8192]);
    sandbox.create_snapshot(named("clean")).expect("taken");
    let clean = sandbox.snapshot(Some("clean")).expect("found");
    let state = clean.state("clean.json".into()).expect("a state");
    let run_command = |sandbox: &SandboxSnapshots, number| {
        let draft = named(&format!("command-{number}"));
        let kept = sandbox.keep_state(
            &state,
            draft,
            SnapshotConsistency::Clean,
            Cause::Command(number),
        );
        kept.expect("kept");
    };
    run_command(&sandbox, 1);
    sandbox.sandbox.spec.undo_limit = 1_u32.try_into().expect("a limit");
    let mut rounds = 0;
    let maintained = sandbox.maintain(Duration::ZERO, || {
        rounds += 1;
        if rounds == 1 {
            run_command(&sandbox, 2);
            assert!(sandbox.takes_digests().expect("looked"));
        }
    });
    maintained.expect("maintained");
    assert_eq!(rounds, 2);
    assert_eq!(names(&sandbox), ["clean", "command-2"]);
}

#[test]
fn a_generation_that_cannot_be_read_keeps_no_other_from_its_digest() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 8192]);
    sandbox.create_snapshot(named("a")).expect("taken");
    change(&sandbox, &[1; 4096], 0);
    sandbox.create_snapshot(named("b")).expect("taken");
    let newest = sandbox.snapshot(Some("b")).expect("found");
    let generations = newest.state("b.json".into()).expect("a state").generations;
    let data = format!("{}.data", generations[0]);
    let data = sandbox.files.generations().join(data);
    let data = fs::File::options().write(true).open(data).expect("opened");
    data.set_len(4096).expect("cut off");
    let taken = sandbox.maintain(Duration::ZERO, || ());
    taken.expect("the other's");
    data.set_len(8192).expect("as long as before");
    let pool = UpperPool::find(&sandbox.files)
        .expect("looked")
        .expect("a pool");
    let has_digest = |id| pool.pool.open_sealed(id).expect("opened").has_digest();
    let have_digests: Vec<bool> = generations.into_iter().map(has_digest).collect();
    assert_eq!(have_digests, [false, true]);
}

#[test]
fn a_flipped_byte_of_content_is_found_and_is_that_of_its_snapshots() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 8192]);
    let state_of = |name: &str| {
        let verified = sandbox.verify_snapshots(&[name.to_owned()]);
        verified.expect("verified").remove(0).content
    };
    sandbox.create_snapshot(named("a")).expect("taken");
    assert_eq!(state_of("a").expect("whole"), SnapshotContent::Recorded);
    change(&sandbox, &[1; 4096], 0);
    sandbox.create_snapshot(named("b")).expect("taken");
    assert_eq!(state_of("a").expect("whole"), SnapshotContent::Intact);
    assert_eq!(state_of("b").expect("whole"), SnapshotContent::Recorded);
    assert_eq!(state_of("b").expect("whole"), SnapshotContent::Intact);
    let newest = sandbox.snapshot(Some("b")).expect("found");
    let newest = newest.state("b.json".into()).expect("a state");
    let id = newest.generations.last().expect("two");
    let data = sandbox.files.generations().join(format!("{id}.data"));
    let mut bytes = fs::read(&data).expect("read");
    bytes[100] ^= 1;
    fs::write(&data, &bytes).expect("written");
    let damaged = state_of("b").expect_err("damage").to_string();
    assert!(
        damaged.contains(&format!("{id}.data is damaged")),
        "{damaged}"
    );
    assert_eq!(state_of("a").expect("whole"), SnapshotContent::Intact);
    fs::remove_file(&data).expect("removed");
    let missing = sandbox.verify_snapshots(&[]).expect("verified");
    let is_whole = missing.iter().map(|one| one.content.is_ok());
    assert_eq!(is_whole.collect::<Vec<_>>(), [true, false]);
    let nobody = sandbox.verify_snapshots(&["c".to_owned()]);
    assert!(matches!(nobody, Err(SnapshotError::Missing { .. })));
}
