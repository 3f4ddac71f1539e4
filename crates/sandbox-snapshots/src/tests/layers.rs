use msb_runtime::current_staged;

use super::*;
use crate::layer::StagedLayer;

/// A stopped sandbox whose disk lies over an image, here a text.
fn staged(home: &Home) -> SandboxSnapshots {
    let sandbox = sandbox(home, &[7; 8192]);
    fs::write(sandbox.files.staged(), "one").expect("written");
    UpperPool::adopt(&sandbox.files).expect("a pool");
    sandbox
}

/// Gives the sandbox a new disk with this content, over a new image or the one that it has.
fn rewrite(sandbox: &SandboxSnapshots, content: u8, image: Option<&str>) {
    let pool = UpperPool::adopt(&sandbox.files).expect("a pool");
    let written = sandbox.stage_disk(8192, None, |disk| disk.0.write(&[content; 8192], 0));
    let written = written.expect("staged").expect("written");
    let path = sandbox.files.unfinished_staged();
    if let Some(image) = image {
        fs::write(&path, image).expect("written");
    }
    let new = image.map(|_| path.as_path());
    written.replace(sandbox, &pool, new).expect("replaced");
    if image.is_some() {
        fs::remove_file(path).expect("it has another name");
    }
}

/// Returns the image that the disk lies over.
fn image(sandbox: &SandboxSnapshots) -> String {
    let path = current_staged(&sandbox.files).expect("looked");
    fs::read_to_string(path).expect("there")
}

/// Returns the number of images in the sandbox's directory.
fn images(sandbox: &SandboxSnapshots) -> usize {
    let layers = fs::read_dir(sandbox.files.layers()).map_or(0, Iterator::count);
    layers + usize::from(sandbox.files.staged().exists())
}

#[test]
fn a_disk_lies_over_the_image_of_its_snapshot_after_a_rollback() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = staged(&Home::new(root.path()));
    sandbox.create_snapshot(named("before")).expect("taken");
    rewrite(&sandbox, 8, Some("two"));
    assert_eq!((image(&sandbox), content(&sandbox)[0]), ("two".into(), 8));
    sandbox.create_snapshot(named("after")).expect("taken");
    change(&sandbox, &[9; 4096], 0);
    let undone = sandbox.roll_back(Some("before")).expect("rolled back");
    assert_eq!((image(&sandbox), content(&sandbox)[0]), ("one".into(), 7));
    // What is read of a snapshot is read over its own image.
    let read = |name: &str| {
        let opened = sandbox.open_snapshot(name).expect("opened");
        let [image] = &opened.staged[..] else {
            panic!("one image: {opened:?}");
        };
        let (mut reader, mut text) = (image, String::new());
        std::io::Read::read_to_string(&mut reader, &mut text).expect("read");
        text
    };
    assert_eq!(read("before"), "one");
    assert_eq!(read("after"), "two");
    let kept = undone.kept.name;
    sandbox
        .roll_back(Some(kept.as_str()))
        .expect("rolled forth");
    assert_eq!((image(&sandbox), content(&sandbox)[0]), ("two".into(), 9));
}

#[test]
fn an_image_goes_with_the_last_state_over_it() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = staged(&Home::new(root.path()));
    // Without a snapshot, no state lies over the first one any longer.
    rewrite(&sandbox, 8, Some("two"));
    assert_eq!((image(&sandbox), images(&sandbox)), ("two".into(), 1));
    assert!(!sandbox.files.staged().exists());
    sandbox.create_snapshot(named("second")).expect("taken");
    rewrite(&sandbox, 9, Some("three"));
    assert_eq!((image(&sandbox), images(&sandbox)), ("three".into(), 2));
    // A disk that is written anew stays over its image.
    rewrite(&sandbox, 10, None);
    assert_eq!((image(&sandbox), images(&sandbox)), ("three".into(), 2));
    sandbox.roll_back(Some("second")).expect("rolled back");
    assert_eq!((image(&sandbox), images(&sandbox)), ("two".into(), 2));
    sandbox.remove_snapshot("2").expect("removed");
    assert_eq!((image(&sandbox), images(&sandbox)), ("two".into(), 1));
    sandbox.remove_snapshot("second").expect("removed");
    assert_eq!((image(&sandbox), images(&sandbox)), ("two".into(), 1));
}

#[test]
fn a_damaged_record_keeps_every_image() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = staged(&Home::new(root.path()));
    sandbox.create_snapshot(named("a")).expect("taken");
    sandbox.create_snapshot(named("b")).expect("taken");
    let record = Records::new(&sandbox.files).path(&"a".parse().expect("a name"));
    fs::write(record, "damaged").expect("written");
    rewrite(&sandbox, 8, Some("two"));
    sandbox.remove_snapshot("b").expect("removed");
    assert_eq!((image(&sandbox), images(&sandbox)), ("two".into(), 2));
    sandbox.remove_snapshot("a").expect("removed");
    assert_eq!((image(&sandbox), images(&sandbox)), ("two".into(), 1));
}

#[tokio::test]
async fn a_merge_takes_the_image_along() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = staged(&Home::new(root.path()));
    sandbox.create_snapshot(named("first")).expect("taken");
    rewrite(&sandbox, 8, Some("two"));
    for number in 0..4 {
        sandbox
            .create_snapshot(SnapshotDraft::default())
            .expect("taken");
        change(&sandbox, &[number; 4096], 0);
    }
    let before = content(&sandbox);
    for name in ["2", "3", "4"] {
        sandbox.remove_snapshot(name).expect("removed");
    }
    let oldest = |sandbox: &SandboxSnapshots| {
        let pool = UpperPool::find(&sandbox.files).expect("looked");
        pool.expect("a pool").state().expect("read").generations[0]
    };
    let old = oldest(&sandbox);
    assert!(sandbox.merge_generations().await.expect("merged") > 0);
    assert_ne!(oldest(&sandbox), old, "the oldest one was merged");
    assert_eq!((image(&sandbox), images(&sandbox)), ("two".into(), 2));
    assert_eq!(content(&sandbox), before);
    sandbox.roll_back(Some("5")).expect("rolled back");
    assert_eq!(image(&sandbox), "two");
    sandbox.roll_back(Some("first")).expect("rolled back");
    assert_eq!(image(&sandbox), "one");
}

#[tokio::test]
async fn a_fork_gets_the_image_of_its_state_alone() {
    let root = tempfile::tempdir().expect("a directory");
    let home = Home::new(root.path());
    let sandbox = staged(&home);
    sandbox.create_snapshot(named("before")).expect("taken");
    rewrite(&sandbox, 8, Some("two"));
    for (snapshot, name, expected) in [(Some("before"), "b", "one"), (None, "c", "two")] {
        let snapshot = snapshot.map(str::to_owned);
        let origin = sandbox.origin(snapshot, false).await.expect("opened");
        let forked = origin.fork(&home, &[Some(name.to_owned())]);
        let fork = forked.expect("forked").sandboxes.remove(0);
        let fork = SandboxSnapshots::new(fork);
        assert_eq!((image(&fork), images(&fork)), (expected.into(), 1));
        let layer = StagedLayer::current(&fork.files).expect("looked");
        assert_eq!(layer.expect("an image").image, fork.files.staged());
    }
}

#[tokio::test]
async fn a_running_machine_cannot_go_back_to_another_image() {
    let root = tempfile::tempdir().expect("a directory");
    let sandbox = staged(&Home::new(root.path()));
    sandbox.create_snapshot(named("before")).expect("taken");
    rewrite(&sandbox, 8, Some("two"));
    sandbox.create_snapshot(named("after")).expect("taken");
    let _held = sandbox.lock().expect("a lock file").expect("free");
    let refused = sandbox.roll_back_running(Some("before"), None).await;
    assert!(matches!(refused, Ok(RollBackRunning::OtherStaged)));
    // Nothing serves the machine's socket.
    let same = sandbox.roll_back_running(Some("after"), None).await;
    assert!(matches!(same, Err(SnapshotError::Connect(_))));
}
