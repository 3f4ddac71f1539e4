mod digests;
mod layers;
mod trust;

use fs_err as fs;
use msb_runtime::{Home, upper_options};

use super::staging::StagingPool;
use super::*;
use testkit::sandboxes::{self, spec};

fn for_tests(home: &Home, name: &str) -> SandboxSnapshots {
    SandboxSnapshots::new(sandboxes::sandbox(home, spec(name)))
}

/// A stopped sandbox whose raw disk has this content.
fn sandbox(home: &Home, content: &[u8]) -> SandboxSnapshots {
    let sandbox = for_tests(home, "a");
    fs::write(sandbox.files.upper(), content).expect("written");
    sandbox
}

fn content(sandbox: &SandboxSnapshots) -> Vec<u8> {
    let pool = UpperPool::find(&sandbox.files).expect("looked");
    let disk = pool.expect("a pool").read().expect("opened");
    let mut bytes = vec![0; usize::try_from(disk.size_bytes()).expect("short")];
    disk.read(&mut bytes, 0).expect("read");
    bytes
}

fn change(sandbox: &SandboxSnapshots, bytes: &[u8], offset_bytes: u64) {
    let pool = UpperPool::find(&sandbox.files).expect("looked");
    let mut disk = pool.expect("a pool").open().expect("opened");
    disk.write(bytes, offset_bytes).expect("written");
    disk.flush().expect("flushed");
}

fn names(sandbox: &SandboxSnapshots) -> Vec<String> {
    let all = sandbox.snapshots().expect("listed").into_iter();
    all.map(|one| one.expect("whole").name.to_string())
        .collect()
}

fn generation_files(sandbox: &SandboxSnapshots) -> usize {
    let files = fs::read_dir(sandbox.files.generations());
    files.expect("listed").count()
}

fn named(word: &str) -> SnapshotDraft {
    SnapshotDraft {
        name: Some(word.parse().expect("a name")),
        message: None,
    }
}

#[test]
fn a_disk_goes_back_and_forth() {
    let root = tempfile::tempdir().expect("a directory");
    let first = [7; 8192];
    let sandbox = sandbox(&Home::new(root.path()), &first);
    let raw_bytes = sandbox.allocated_bytes().expect("there");
    sandbox.create_snapshot(named("clean")).expect("taken");
    assert!(!sandbox.files.upper().exists());
    assert!(sandbox.allocated_bytes().expect("there") >= raw_bytes);
    change(&sandbox, b"changed", 4096);
    let changed = content(&sandbox);
    let rolled = sandbox.roll_back(Some("clean")).expect("rolled back");
    assert_eq!(content(&sandbox), first);
    assert_eq!(
        (rolled.kept.name.as_str(), rolled.kept.is_automatic),
        ("2", true)
    );
    // The automatic snapshot is the newest one.
    let rolled = sandbox.roll_back(None).expect("rolled forth");
    assert_eq!(content(&sandbox), changed);
    assert_eq!(rolled.kept.name.as_str(), "clean");
    assert_eq!(names(&sandbox), ["clean", "2"]);
}

#[test]
fn a_number_is_given_once_also_after_the_newest_snapshot_was_removed_or_damaged() {
    let root = tempfile::tempdir().expect("a directory");
    let home = Home::new(root.path());
    let sandbox = sandbox(&home, &[7; 8192]);
    let next = || {
        let snapshot = sandbox.create_snapshot(SnapshotDraft::default());
        snapshot.expect("taken").number
    };
    assert_eq!((next(), next()), (1, 2));
    sandbox.remove_snapshot("2").expect("removed");
    assert_eq!(next(), 3);
    let newest = Records::new(&sandbox.files).path(&"3".parse().expect("a name"));
    fs::write(newest, "damaged").expect("written");
    assert_eq!(next(), 4);
    // A change of the description keeps the count.
    let mut renamed = (*sandbox).clone();
    renamed.rename(&home, "b").expect("renamed");
    let sandbox = SandboxSnapshots::new(renamed);
    let snapshot = sandbox.create_snapshot(SnapshotDraft::default());
    assert_eq!(snapshot.expect("taken").number, 5);
}

#[test]
fn what_is_removed_takes_its_generations_along() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 8192]);
    sandbox.create_snapshot(named("clean")).expect("taken");
    change(&sandbox, &[1; 4096], 0);
    sandbox.create_snapshot(named("tried")).expect("taken");
    change(&sandbox, &[2; 4096], 0);
    sandbox.roll_back(Some("clean")).expect("rolled back");
    // The head that was cut off goes with the first removal.
    sandbox.create_snapshot(named("more")).expect("taken");
    sandbox.remove_snapshot("more").expect("removed");
    let before = generation_files(&sandbox);
    sandbox.remove_snapshot("tried").expect("removed");
    // The automatic snapshot still has the same generations.
    assert_eq!(generation_files(&sandbox), before);
    sandbox.remove_snapshot("3").expect("removed");
    assert!(generation_files(&sandbox) < before);
    assert_eq!(content(&sandbox), [7; 8192]);
    assert_eq!(names(&sandbox), ["clean"]);
    sandbox.roll_back(Some("clean")).expect("still whole");
}

#[test]
fn what_cannot_be_done_changes_nothing() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 4096]);
    let none = sandbox.roll_back(None);
    assert!(matches!(none, Err(SnapshotError::Empty { .. })));
    assert!(sandbox.files.upper().exists());
    sandbox.create_snapshot(named("a")).expect("taken");
    let taken = sandbox.create_snapshot(named("a"));
    assert!(matches!(taken, Err(SnapshotError::Exists { .. })));
    let missing = sandbox.remove_snapshot("b");
    assert!(matches!(missing, Err(SnapshotError::Missing { .. })));
    let held = sandbox.lock().expect("a lock file").expect("free");
    for running in [
        sandbox.create_snapshot(SnapshotDraft::default()).map(drop),
        sandbox.roll_back(None).map(drop),
    ] {
        assert!(matches!(running, Err(SnapshotError::Running { .. })));
    }
    drop(held);
    assert_eq!(names(&sandbox), ["a"]);
}

#[test]
fn a_state_that_is_kept_is_not_kept_again() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 8192]);
    sandbox.create_snapshot(named("2")).expect("taken");
    let rolled = sandbox.roll_back(Some("2")).expect("rolled back");
    assert_eq!(rolled.kept, rolled.to);
    change(&sandbox, &[1; 4096], 0);
    // As if the process had ended between the automatic snapshot and the rollback. Its number is taken
    // as a name.
    sandbox
        .create_snapshot(SnapshotDraft::default())
        .expect("taken");
    let files = generation_files(&sandbox);
    let rolled = sandbox.roll_back(Some("2")).expect("rolled back");
    assert_eq!(rolled.kept.name.as_str(), "3");
    assert_eq!(names(&sandbox), ["2", "3"]);
    assert_eq!(content(&sandbox), [7; 8192]);
    assert!(generation_files(&sandbox) <= files);
}

#[test]
fn each_flipped_bit_of_a_record_is_refused_and_harms_no_other_snapshot() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 4096]);
    sandbox.create_snapshot(named("a")).expect("taken");
    change(&sandbox, &[1; 4096], 0);
    sandbox.create_snapshot(named("b")).expect("taken");
    let path = sandbox.files.snapshots().join("a.json");
    let whole = fs::read(&path).expect("read");
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &flipped).expect("written");
        let refused = sandbox.snapshot(Some("a")).expect_err("damage");
        let message = refused.to_string();
        assert!(message.contains("a.json is damaged"), "{bit}: {message}");
    }
    let refused = sandbox.roll_back(Some("a"));
    assert!(matches!(refused, Err(SnapshotError::Damaged { .. })));
    // Which one is the newest is unknown.
    let refused = sandbox.roll_back(None);
    assert!(matches!(refused, Err(SnapshotError::Damaged { .. })));
    assert_eq!(content(&sandbox), [1; 4096]);
    let listed = sandbox.snapshots().expect("listed");
    assert_eq!(listed.iter().filter(|one| one.is_ok()).count(), 1);
    // A removal frees no generation that the damaged record may list.
    let before = generation_files(&sandbox);
    sandbox.create_snapshot(named("c")).expect("taken");
    sandbox.remove_snapshot("b").expect("removed");
    assert_eq!(generation_files(&sandbox), before);
    sandbox.roll_back(Some("c")).expect("rolled back");
    sandbox.remove_snapshot("a").expect("removed");
    assert_eq!(names(&sandbox), ["c"]);
    assert_eq!(content(&sandbox), [1; 4096]);
}

#[test]
fn an_adoption_that_was_cut_short_is_ended() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 4096]);
    let beside = root.path().join("beside");
    fs::hard_link(sandbox.files.upper(), &beside).expect("linked");
    sandbox
        .create_snapshot(SnapshotDraft::default())
        .expect("taken");
    // As if the process had ended before it removed the old name.
    fs::rename(&beside, sandbox.files.upper()).expect("renamed");
    assert_eq!(content(&sandbox), [7; 4096]);
    sandbox
        .create_snapshot(SnapshotDraft::default())
        .expect("taken");
    assert!(!sandbox.files.upper().exists());
    // And as if the pool had got no disk.
    let other = for_tests(&Home::new(root.path()), "b");
    fs::write(other.files.upper(), [5; 4096]).expect("written");
    fs::create_dir(other.files.generations()).expect("made");
    assert!(UpperPool::find(&other.files).expect("looked").is_none());
    other
        .create_snapshot(SnapshotDraft::default())
        .expect("taken");
    assert_eq!(content(&other), [5; 4096]);
}

#[tokio::test]
async fn merging_frees_what_nobody_sees_and_changes_no_content() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 4 * 4096]);
    sandbox.create_snapshot(named("a")).expect("taken");
    for number in 1..6 {
        change(&sandbox, &[number; 4096], 0);
        change(&sandbox, &[number; 4096], 4096 * u64::from(number % 4));
        sandbox
            .create_snapshot(SnapshotDraft::default())
            .expect("taken");
    }
    let kept = content(&sandbox);
    sandbox.create_snapshot(named("z")).expect("taken");
    change(&sandbox, &[9; 4096], 0);
    let last = content(&sandbox);
    assert_eq!(sandbox.merge_generations().await.expect("merged"), 0);
    for number in 2..6 {
        sandbox
            .remove_snapshot(&number.to_string())
            .expect("removed");
    }
    sandbox.verify_snapshots(&[]).expect("verified");
    let before = generation_files(&sandbox);
    assert!(sandbox.merge_generations().await.expect("merged") > 0);
    // Two files of each of five generations became those of one.
    assert_eq!(generation_files(&sandbox), before - 8);
    assert_eq!(content(&sandbox), last);
    let verified = sandbox.verify_snapshots(&[]).expect("verified");
    for one in verified {
        let content = one.content.expect("whole");
        assert_eq!(content, SnapshotContent::Intact, "{}", one.name);
    }
    sandbox.roll_back(Some("z")).expect("rolled back");
    assert_eq!(content(&sandbox), kept);
    sandbox.roll_back(Some("a")).expect("rolled back");
    assert_eq!(content(&sandbox), [7; 4 * 4096]);
}

#[tokio::test]
async fn a_machine_that_does_not_take_part_keeps_its_generations() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 8192]);
    for number in 0..4 {
        sandbox
            .create_snapshot(SnapshotDraft::default())
            .expect("taken");
        change(&sandbox, &[number; 4096], 0);
    }
    for name in ["2", "3"] {
        sandbox.remove_snapshot(name).expect("removed");
    }
    let (before, kept) = (generation_files(&sandbox), content(&sandbox));
    // Nothing serves the machine's socket.
    let held = sandbox.lock().expect("a lock file").expect("free");
    let refused = sandbox.merge_generations().await;
    assert!(matches!(refused, Err(SnapshotError::Connect(_))));
    drop(held);
    assert_eq!(generation_files(&sandbox), before);
    let beside = fs::read_dir(sandbox.files.merging()).expect("a directory");
    assert_eq!(beside.count(), 0, "nothing is left of the copy");
    assert!(sandbox.merge_generations().await.expect("merged") > 0);
    assert_eq!(content(&sandbox), kept);
}

#[tokio::test]
async fn many_generations_are_merged_once_they_are_many() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 8192]);
    let mut number = 0;
    let mut take = |count| {
        for _ in 0..count {
            sandbox
                .create_snapshot(SnapshotDraft::default())
                .expect("taken");
            number += 1;
            change(&sandbox, &u64::to_le_bytes(number).repeat(512), 0);
        }
    };
    take(MANY_GENERATIONS);
    assert!(
        !sandbox.has_many_generations().expect("read"),
        "all are kept"
    );
    // All but 15 snapshots between two others are removed, so 16 generations could be one.
    for name in 2..=16 {
        sandbox.remove_snapshot(&name.to_string()).expect("removed");
    }
    assert_eq!(sandbox.merge_many_generations().await.expect("looked"), 0);
    sandbox.remove_snapshot("17").expect("removed");
    assert!(sandbox.has_many_generations().expect("read"));
    let busy = StagingPool::try_claim(&sandbox.files).expect("claimed");
    let passed = sandbox.merge_many_generations().await;
    assert_eq!(passed.expect("another process merges"), 0);
    drop(busy);
    // A merge that was killed has left second names of what it read.
    for entry in fs::read_dir(sandbox.files.generations()).expect("listed") {
        let entry = entry.expect("an entry");
        let left = sandbox.files.merging().join(entry.file_name());
        fs::hard_link(entry.path(), left).expect("linked");
    }
    let (files, kept) = (generation_files(&sandbox), content(&sandbox));
    assert!(sandbox.merge_many_generations().await.expect("merged") > 0);
    assert_eq!(generation_files(&sandbox), files - 32);
    assert_eq!(content(&sandbox), kept);
    sandbox.verify_snapshots(&[]).expect("verified");
}

#[tokio::test]
async fn damage_is_not_merged_away() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 8192]);
    for number in 1..4 {
        sandbox
            .create_snapshot(SnapshotDraft::default())
            .expect("taken");
        change(&sandbox, &[number; 4096], 0);
    }
    sandbox.create_snapshot(named("last")).expect("taken");
    sandbox.verify_snapshots(&[]).expect("verified");
    sandbox.remove_snapshot("2").expect("removed");
    sandbox.remove_snapshot("3").expect("removed");
    let last = sandbox.snapshot(Some("last")).expect("found");
    let last = last.state("last.json".into()).expect("a state");
    let id = last.generations.get(2).expect("four");
    let data = sandbox.files.generations().join(format!("{id}.data"));
    let mut bytes = fs::read(&data).expect("read");
    bytes[0] ^= 1;
    fs::write(&data, &bytes).expect("written");
    let before = generation_files(&sandbox);
    let refused = sandbox.merge_generations().await.expect_err("damage");
    assert!(
        refused
            .to_string()
            .contains(&format!("{id}.data is damaged")),
        "{refused}"
    );
    assert_eq!(generation_files(&sandbox), before);
}

#[test]
fn a_disk_has_no_more_generations_than_a_process_can_open() {
    check_count(GENERATIONS_MAX - 1).expect("one more");
    let refused = check_count(GENERATIONS_MAX);
    assert!(matches!(
        refused,
        Err(SnapshotError::TooMany { count: 500, .. })
    ));
}

#[test]
fn snapshots_of_a_running_sandbox_are_verified_and_removed() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 4096]);
    sandbox.create_snapshot(named("a")).expect("taken");
    change(&sandbox, &[1; 4096], 0);
    sandbox.create_snapshot(named("b")).expect("taken");
    let _held = sandbox.lock().expect("a lock file").expect("free");
    // As the process of the machine has it.
    let pool = UpperPool::find(&sandbox.files).expect("looked");
    let mut disk = pool.expect("a pool").open().expect("opened");
    disk.write(&[2; 4096], 0).expect("written");
    let verified = sandbox.verify_snapshots(&[]).expect("verified");
    assert!(verified.iter().all(|one| one.content.is_ok()));
    let state = disk.cut().expect("cut");
    sandbox.remove_snapshot("b").expect("removed");
    disk.flush().expect("flushed");
    disk.write(&[3; 4096], 0).expect("written");
    sandbox.remove_snapshot("a").expect("removed");
    disk.flush().expect("flushed");
    let mut bytes = [0; 1];
    let pool = UpperPool::find(&sandbox.files).expect("looked");
    let cut = pool.expect("a pool").pool.open_snapshot(&state);
    cut.expect("whole").read(&mut bytes, 0).expect("read");
    assert_eq!(bytes, [2]);
    drop(disk);
    assert_eq!(content(&sandbox), [3; 4096]);
}

#[tokio::test]
async fn a_snapshot_of_a_running_sandbox_is_taken_by_its_machine() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 4096]);
    let taken = sandbox.take_snapshot(named("a"), true).await;
    assert_eq!(taken.expect("stopped").name.as_str(), "a");
    let diskless = for_tests(&Home::new(root.path()), "diskless");
    let held = [&sandbox, &diskless].map(|one| one.lock().expect("a lock file").expect("free"));
    let refused = diskless.take_snapshot(named("a"), true).await;
    assert!(matches!(refused, Err(SnapshotError::NoDisk)));
    assert!(!diskless.files.generations().exists());
    // The name is looked at before the machine is asked, and nothing serves its socket.
    let refused = sandbox.take_snapshot(named("a"), true).await;
    assert!(matches!(refused, Err(SnapshotError::Exists { .. })));
    let refused = sandbox.take_snapshot(named("b"), true).await;
    assert!(matches!(refused, Err(SnapshotError::Connect(_))));
    drop(held);
}

#[test]
fn the_filesystem_itself_says_whether_it_is_whole() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = for_tests(&Home::new(root.path()), "a");
    let tree = fstree::Tree::<Vec<u8>>::new(fstree::Metadata::directory(0o755));
    let options = upper_options(&sandbox.spec, 32 << 20);
    let file = fs::File::create(sandbox.files.upper()).expect("made");
    ext4_writer::write(&tree, &options, file.file()).expect("laid out");
    let taken = sandbox.create_snapshot(named("whole")).expect("taken");
    assert_eq!(taken.consistency, SnapshotConsistency::Clean);
    let pool = UpperPool::find(&sandbox.files).expect("looked");
    let pool = pool.expect("a pool");
    let state = pool.state().expect("read");
    let promised = SnapshotConsistency::of(&pool, &state, SnapshotConsistency::Frozen);
    assert_eq!(promised.expect("looked"), SnapshotConsistency::Frozen);
    // What is no filesystem is not whole, whatever a guest says.
    change(&sandbox, &[0; 4096], 0);
    let taken = sandbox.create_snapshot(named("torn")).expect("taken");
    assert_eq!(taken.consistency, SnapshotConsistency::Crash);
}

#[test]
fn snapshots_of_commands_and_undos_count_against_the_limit() {
    let root = tempfile::tempdir().expect("a directory");
    let mut sandbox = sandbox(&Home::new(root.path()), &[7; 8192]);
    sandbox.create_snapshot(named("clean")).expect("taken");
    let clean = sandbox.snapshot(Some("clean")).expect("found");
    let state = clean.state("clean.json".into()).expect("a state");
    for number in 1..=2 {
        let cause = Cause::Command(number);
        let draft = named(&format!("command-{number}"));
        let kept = sandbox.keep_state(&state, draft, SnapshotConsistency::Clean, cause);
        kept.expect("kept");
    }
    for (number, to) in [(1, "command-1"), (2, "command-2"), (3, "clean")] {
        change(&sandbox, &[number; 4096], 0);
        let rolled = sandbox.roll_back(Some(to)).expect("rolled back");
        assert_eq!(rolled.kept.is_of_undo, to != "clean");
    }
    let kept = names(&sandbox);
    assert_eq!(kept.len(), 6, "{kept:?}");
    sandbox.sandbox.spec.undo_limit = 3_u32.try_into().expect("a limit");
    assert_eq!(sandbox.expire_command_snapshots().expect("expired"), 1);
    assert_eq!(
        names(&sandbox),
        ["clean", "command-2", &kept[3], &kept[4], &kept[5]]
    );
    sandbox.sandbox.spec.undo_limit = 1_u32.try_into().expect("a limit");
    assert_eq!(sandbox.expire_command_snapshots().expect("expired"), 2);
    assert_eq!(names(&sandbox), ["clean", &kept[4], &kept[5]]);
}
