//! `msb apply` of staged directories, in sandboxes that never ran.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{home, printed};
use crate::support::TestHome;

/// Makes a directory with a file.
fn directory(home: &TestHome, name: &str) -> PathBuf {
    let directory = home.path().join(name);
    fs::create_dir(&directory).expect("made");
    fs::write(directory.join("file"), name).expect("written");
    directory
}

fn staged(directory: &Path, target: &str) -> String {
    format!("{}:{target}", directory.display())
}

/// Returns the targets and directories that changes of a sandbox would be put into.
fn directories(home: &TestHome, words: &[&str]) -> Vec<(String, PathBuf)> {
    let json = printed(
        home,
        &[&["apply", "-n", "--format", "json"], words].concat(),
    );
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let all = json["directories"].as_array().expect("a list").iter();
    let text = |one: &Value, key: &str| one[key].as_str().expect("text").to_owned();
    all.map(|one| (text(one, "target"), text(one, "directory").into()))
        .collect()
}

#[test]
fn staged_directories_are_applied_together_or_by_their_paths() {
    let home = home();
    let (one, two) = (directory(&home, "one"), directory(&home, "two"));
    let (first, second) = (staged(&one, "/work:staged"), staged(&two, "/other:staged"));
    printed(
        &home,
        &[
            "create", "--name", "agent", "-v", &first, "-v", &second, "app:1",
        ],
    );
    let (first, second) = (("/work".to_owned(), one), ("/other".to_owned(), two));
    assert_eq!(directories(&home, &["agent"]), [first, second.clone()]);
    assert_eq!(
        directories(&home, &["agent", "--", "/other/file"]),
        [second]
    );
    let refused = home.msb(&["apply", "agent", "--", "/etc"]);
    refused.assert_refused(&["/etc is in no staged directory of the sandbox"]);
    // Both directories are locked while there is a plan, and nothing is changed.
    assert_eq!(printed(&home, &["apply", "--then-discard", "agent"]), "");
}

#[test]
fn a_read_only_staged_directory_is_not_applied() {
    let home = home();
    let (one, two) = (directory(&home, "one"), directory(&home, "two"));
    let read_only = staged(&one, "/work:staged,ro");
    printed(
        &home,
        &["create", "--name", "agent", "-v", &read_only, "app:1"],
    );
    let refused = ["the directory staged at /work is read-only"];
    home.msb(&["apply", "agent"]).assert_refused(&refused);
    home.msb(&["apply", "agent", "--", "/work"])
        .assert_refused(&refused);
    let to = two.to_str().expect("text");
    let words = ["apply", "--from", "/work", "agent", to];
    home.msb(&words).assert_refused(&refused);
    // Beside another one, it is left out.
    let second = staged(&two, "/other:staged");
    printed(
        &home,
        &[
            "create", "--name", "both", "-v", &read_only, "-v", &second, "app:1",
        ],
    );
    assert_eq!(directories(&home, &["both"]), [("/other".to_owned(), two)]);
    home.msb(&["apply", "both", "--", "/work"])
        .assert_refused(&refused);
}

#[test]
fn a_source_behind_a_symlink_is_the_directory_of_its_creation() {
    let home = home();
    let (one, two) = (directory(&home, "one"), directory(&home, "two"));
    let link = home.path().join("link");
    symlink(&one, &link).expect("made");
    let mount = staged(&link, "/work:staged");
    printed(&home, &["create", "--name", "agent", "-v", &mount, "app:1"]);
    assert_eq!(printed(&home, &["fs", "cat", "agent", "/work/file"]), "one");
    // The link leads elsewhere now.
    fs::remove_file(&link).expect("removed");
    symlink(&two, &link).expect("made");
    let found = directories(&home, &["agent"]);
    let expected = one.canonicalize().expect("there");
    assert_eq!(found, [("/work".to_owned(), expected)]);
}

#[test]
fn a_commit_says_once_that_staged_directories_are_left_out() {
    let home = home();
    let (one, two) = (directory(&home, "one"), directory(&home, "two"));
    let (first, second) = (staged(&one, "/work:staged"), staged(&two, "/other:staged"));
    let words = ["create", "--name", "agent", "-v", &first];
    printed(&home, &[&words[..], &["-v", &second, "app:1"]].concat());
    let said = home.msb(&["commit", "agent", "new:1"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let notice = "msb: the staged directories /work, /other are left out\n";
    assert_eq!(said.stderr, notice);
    let said = home.msb(&["commit", "-q", "agent", "new:2"]);
    assert_eq!((said.code, &said.stderr[..]), (Some(0), ""));
    printed(&home, &["create", "--name", "plain", "app:1"]);
    assert_eq!(home.msb(&["commit", "plain", "new:3"]).stderr, "");
}

#[test]
fn a_prune_removes_what_a_killed_process_left_of_a_staged_directory() {
    let home = home();
    let mount = staged(&directory(&home, "one"), "/work:staged");
    printed(&home, &["create", "--name", "agent", "-v", &mount, "app:1"]);
    let images = home.path().join("home/staged");
    let (left, written) = (
        images.join(".msb-save-AbC123"),
        images.join(".msb-save-DeF456"),
    );
    fs::write(&left, "left").expect("written");
    fs::write(&written, "being written").expect("written");
    let lock = fs::File::open(&written).expect("opened");
    lock.lock().expect("locked");
    let removed = |words: &[&str]| -> u64 {
        let json: Value = serde_json::from_str(&printed(&home, words)).expect("JSON");
        json["left_overs"].as_u64().expect("a number")
    };
    assert_eq!(removed(&["prune", "--dry-run", "--format", "json"]), 1);
    assert!(left.exists());
    assert_eq!(removed(&["prune", "--format", "json"]), 1);
    assert!(!left.exists() && written.exists());
    assert_eq!(printed(&home, &["fs", "cat", "agent", "/work/file"]), "one");
}

#[test]
fn directories_are_staged_anew_under_snapshots_that_keep_their_files() {
    let home = home();
    let one = directory(&home, "one");
    let mount = staged(&one, "/work:staged");
    let words = [
        "create",
        "--name",
        "agent",
        "--upper-size",
        "64m",
        "-v",
        &mount,
        "app:1",
    ];
    printed(&home, &words);
    home.change_staged("agent", &["own"]);
    printed(&home, &["snapshot", "create", "agent@before"]);
    fs::write(one.join("file"), "later").expect("written");
    fs::write(one.join("new"), "new").expect("written");
    for words in [&["restage", "-n", "agent"][..], &["restage", "agent"]] {
        let seen = printed(&home, words);
        for line in ["A /work/new\n", "C /work/file\n"] {
            assert!(seen.contains(line), "{seen}");
        }
        assert!(!seen.contains("own"), "{seen}");
    }
    let file = |name: &str| printed(&home, &["fs", "cat", name, "/work/file"]);
    let images = |key: &str| {
        let df = printed(&home, &["df", "--format", "json"]);
        let df: Value = serde_json::from_str(&df).expect("JSON");
        df["staged_directories"][key].as_u64()
    };
    assert_eq!(
        (&file("agent")[..], &file("agent@before")[..]),
        ("later", "one")
    );
    for name in ["agent", "agent@before"] {
        assert_eq!(printed(&home, &["diff", name]), "A /work/own\n");
    }
    assert_eq!((images("count"), images("active")), (Some(2), Some(2)));
    // A rollback brings the files of that time back, and another one those that were staged anew.
    printed(&home, &["fork", "agent@before", "fork"]);
    let kept = printed(&home, &["rollback", "agent@before"]);
    assert_eq!((&file("agent")[..], &file("fork")[..]), ("one", "one"));
    printed(&home, &["rollback", kept.trim()]);
    assert_eq!(file("agent"), "later");
    // Each image goes with the last sandbox and snapshot over it.
    let pruned = || {
        let pruned = printed(&home, &["prune", "--dry-run", "--format", "json"]);
        let pruned: Value = serde_json::from_str(&pruned).expect("JSON");
        pruned["staged_directories"].as_u64()
    };
    printed(&home, &["rm", "fork"]);
    assert_eq!(pruned(), Some(0));
    printed(&home, &["snapshot", "rm", "agent@before"]);
    assert_eq!(pruned(), Some(1));
    assert_eq!(file("agent"), "later");
    printed(&home, &["rm", "agent"]);
    assert_eq!(pruned(), Some(2));
}

#[test]
fn what_collides_is_named_and_no_snapshot_is_changed() {
    let home = home();
    let one = directory(&home, "one");
    let mount = staged(&one, "/work:staged");
    let words = [
        "create",
        "--name",
        "agent",
        "--upper-size",
        "64m",
        "-v",
        &mount,
        "app:1",
    ];
    printed(&home, &words);
    home.change_staged("agent", &["both"]);
    printed(&home, &["snapshot", "create", "agent@before"]);
    fs::write(one.join("both"), "of the host").expect("written");
    let refused = home.msb(&["restage", "agent"]);
    refused.assert_refused(&["both changed '/work/both'"]);
    for name in ["agent", "agent@before"] {
        assert_eq!(printed(&home, &["diff", name]), "A /work/both\n");
    }
}
