use fs_err as fs;

use super::*;
use crate::sandbox::Spec;
use crate::{Home, UpperPool};

/// A stopped sandbox whose raw disk has this content.
fn sandbox(home: &Home, content: &[u8]) -> Sandbox {
    let sandbox = Sandbox::for_tests(home, Spec::for_tests("a"));
    fs::write(sandbox.files.upper(), content).expect("written");
    sandbox
}

fn content(sandbox: &Sandbox) -> Vec<u8> {
    let pool = UpperPool::find(&sandbox.files).expect("looked");
    let disk = pool.expect("a pool").read().expect("opened");
    let mut bytes = vec![0; usize::try_from(disk.size_bytes()).expect("short")];
    disk.read(&mut bytes, 0).expect("read");
    bytes
}

fn change(sandbox: &Sandbox, bytes: &[u8], offset_bytes: u64) {
    let pool = UpperPool::find(&sandbox.files).expect("looked");
    let mut disk = pool.expect("a pool").open().expect("opened");
    disk.write(bytes, offset_bytes).expect("written");
    disk.flush().expect("flushed");
}

fn names(sandbox: &Sandbox) -> Vec<String> {
    let all = sandbox.snapshots().expect("listed");
    all.iter().map(|one| one.name.to_string()).collect()
}

fn named(word: &str) -> Option<SnapshotName> {
    Some(word.parse().expect("a name"))
}

#[test]
fn a_disk_goes_back_and_forth() {
    let root = tempfile::tempdir().expect("a directory");
    let first = [7; 8192];
    let sandbox = sandbox(&Home::new(root.path()), &first);
    let raw_bytes = sandbox.allocated_bytes().expect("there");
    sandbox
        .create_snapshot(named("clean"), None)
        .expect("taken");
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
    sandbox.roll_back(None).expect("rolled forth");
    assert_eq!(content(&sandbox), changed);
    assert_eq!(names(&sandbox), ["clean", "2", "3"]);
}

#[test]
fn what_is_removed_takes_its_generations_along() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 8192]);
    sandbox
        .create_snapshot(named("clean"), None)
        .expect("taken");
    change(&sandbox, &[1; 4096], 0);
    sandbox
        .create_snapshot(named("tried"), None)
        .expect("taken");
    let generations = || {
        fs::read_dir(sandbox.files.generations())
            .expect("listed")
            .count()
    };
    sandbox.roll_back(Some("clean")).expect("rolled back");
    let before = generations();
    sandbox.remove_snapshot("tried").expect("removed");
    // The automatic snapshot still has the same generations.
    assert_eq!(generations(), before);
    sandbox.remove_snapshot("3").expect("removed");
    assert!(generations() < before);
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
    sandbox.create_snapshot(named("a"), None).expect("taken");
    let taken = sandbox.create_snapshot(named("a"), None);
    assert!(matches!(taken, Err(SnapshotError::Exists { .. })));
    let missing = sandbox.remove_snapshot("b");
    assert!(matches!(missing, Err(SnapshotError::Missing { .. })));
    let held = sandbox.lock().expect("a lock file").expect("free");
    for running in [
        sandbox.create_snapshot(None, None).map(drop),
        sandbox.roll_back(None).map(drop),
        sandbox.remove_snapshot("a"),
    ] {
        assert!(matches!(running, Err(SnapshotError::Running { .. })));
    }
    drop(held);
    assert_eq!(names(&sandbox), ["a"]);
}

#[test]
fn a_flipped_bit_of_a_record_is_refused_or_changes_no_content() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 4096]);
    sandbox.create_snapshot(named("a"), None).expect("taken");
    change(&sandbox, &[1; 4096], 0);
    let path = sandbox.files.snapshots().join("a.json");
    let whole = fs::read(&path).expect("read");
    let text = String::from_utf8(whole.clone()).expect("JSON");
    let start = text.find("\"state\"").expect("a state") + "\"state\": \"".len();
    for at in (start..text.len() - 4).step_by(7) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        fs::write(&path, &flipped).expect("written");
        let refused = sandbox.roll_back(Some("a")).expect_err("damage");
        let message = refused.to_string();
        assert!(message.contains("a.json is damaged"), "{at}: {message}");
        // A rollback that is refused keeps no automatic snapshot.
        fs::write(&path, &whole).expect("written");
        assert_eq!(names(&sandbox), ["a"]);
    }
    assert_eq!(content(&sandbox), [1; 4096]);
}

#[test]
fn an_adoption_that_was_cut_short_is_ended() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = sandbox(&Home::new(root.path()), &[7; 4096]);
    let beside = root.path().join("beside");
    fs::hard_link(sandbox.files.upper(), &beside).expect("linked");
    sandbox.create_snapshot(None, None).expect("taken");
    // As if the process had ended before it removed the old name.
    fs::rename(&beside, sandbox.files.upper()).expect("renamed");
    assert_eq!(content(&sandbox), [7; 4096]);
    sandbox.create_snapshot(None, None).expect("taken");
    assert!(!sandbox.files.upper().exists());
    // And as if the pool had got no disk.
    let other = Sandbox::for_tests(&Home::new(root.path()), Spec::for_tests("b"));
    fs::write(other.files.upper(), [5; 4096]).expect("written");
    fs::create_dir(other.files.generations()).expect("made");
    assert!(UpperPool::find(&other.files).expect("looked").is_none());
    other.create_snapshot(None, None).expect("taken");
    assert_eq!(content(&other), [5; 4096]);
}
