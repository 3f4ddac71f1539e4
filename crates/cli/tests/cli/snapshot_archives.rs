//! Snapshots that go through a file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Said, TestHome, host_architecture};

/// The number of bytes that are flipped, each alone, over the whole archive.
const FLIPS: usize = 40;

fn printed(home: &TestHome, words: &[&str]) -> String {
    let said = home.msb(words);
    assert_eq!(said.code, Some(0), "{words:?}: {}", said.stderr);
    said.stdout
}

fn home_with_image() -> TestHome {
    let home = TestHome::new();
    home.load("app", &host_architecture());
    home
}

/// Makes a sandbox with a file of its own and a snapshot, and exports it. Returns the archive.
fn exported(home: &TestHome) -> PathBuf {
    let file = home.path().join("own");
    fs::write(&file, "of the sandbox").expect("written");
    let copy = format!("{}:/own", file.display());
    let shared = home.path().join("shared");
    fs::create_dir(&shared).expect("made");
    let host = format!("{}:/host", shared.display());
    // The tests hold the disk in memory.
    let words = ["create", "-q", "--name", "box", "--upper-size", "64m"];
    let words = [&words[..], &["--copy", &copy, "-v", &host]].concat();
    let own = ["--label", "a=b", "-p", "8080:80", "app", "sh", "-c", "true"];
    printed(home, &[&words[..], &own].concat());
    printed(home, &["snapshot", "create", "-m", "a note", "box@clean"]);
    let archive = home.path().join("clean.msb");
    export(home, "box@clean", &archive);
    archive
}

fn export(home: &TestHome, snapshot: &str, archive: &Path) {
    let path = archive.to_str().expect("text");
    assert_eq!(
        printed(home, &["snapshot", "export", "-o", path, snapshot]),
        ""
    );
}

fn import(home: &TestHome, archive: &Path, name: &[&str]) -> Said {
    let path = archive.to_str().expect("text");
    home.msb(&[&["snapshot", "import", "-i", path], name].concat())
}

/// Extracts the disk with GNU tar.
fn disk(archive: &Path, directory: &Path) -> Vec<u8> {
    part(archive, directory, "disk.img")
}

/// Extracts an archive with GNU tar. Returns one of its parts.
fn part(archive: &Path, directory: &Path, name: &str) -> Vec<u8> {
    fs::create_dir_all(directory).expect("made");
    let mut tar = Command::new("tar");
    tar.args(["--zstd", "-xSf"])
        .arg(archive)
        .arg("-C")
        .arg(directory);
    assert!(tar.status().expect("tar is there").success());
    fs::read(directory.join(name)).expect("extracted")
}

/// The content of the file of a staged directory, which is nowhere else in an archive.
const STAGED: &str = "of the directory that was staged";

/// Makes a sandbox with a staged directory, changes in it and a snapshot, and exports it. Returns the archive.
fn exported_with_staged(home: &TestHome) -> PathBuf {
    let project = home.path().join("project");
    fs::create_dir(&project).expect("made");
    fs::write(project.join("file"), STAGED).expect("written");
    let mount = format!("{}:/work:staged", project.display());
    let words = ["create", "-q", "--name", "agent", "--upper-size", "64m"];
    let rules = ["--rule", ".envrc=allow", "--rule", "docs=read-only"];
    let words = [&words[..], &["-v", &mount], &rules, &["app"]].concat();
    printed(home, &words);
    home.change_staged("agent", &["new", ".envrc"]);
    printed(home, &["snapshot", "create", "agent@clean"]);
    let archive = home.path().join("staged.msb");
    export(home, "agent@clean", &archive);
    archive
}

/// Returns the directories of sandboxes, of which a failed import leaves none.
fn directories(home: &TestHome) -> usize {
    let listed = fs::read_dir(home.path().join("home/sandboxes"));
    listed.map_or(0, |entries| entries.count())
}

#[test]
fn a_snapshot_comes_back_on_another_host_byte_for_byte() {
    let here = home_with_image();
    let archive = exported(&here);
    // The same image goes another way, and has another manifest there.
    let there = TestHome::new();
    let saved = here.path().join("image.tar");
    let saved = saved.to_str().expect("text");
    let save = [
        "save",
        "-o",
        saved,
        "--format",
        "oci-archive",
        "--compression",
        "zstd",
        "app",
    ];
    printed(&here, &save);
    printed(&there, &["load", saved]);
    let digest = |home: &TestHome| printed(home, &["images", "-q"]);
    assert_ne!(digest(&here), digest(&there));
    let imported = import(&there, &archive, &[]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    assert_eq!(imported.stdout, "box@clean\n");
    for left_out in ["the host directory at /host", "the published port"] {
        assert!(imported.stderr.contains(left_out), "{}", imported.stderr);
    }
    let words = [
        "inspect",
        "--format",
        "{{.state}} {{.mounts}} {{.labels.a}}",
        "box",
    ];
    assert_eq!(printed(&there, &words), "created [] b\n");
    let words = [
        "snapshot",
        "inspect",
        "-f",
        "{{.message}} {{.consistency}}",
        "box@clean",
    ];
    assert_eq!(printed(&there, &words), "a note clean\n");
    assert_eq!(
        printed(&there, &["fs", "cat", "box", "/own"]),
        "of the sandbox"
    );
    assert_eq!(
        printed(&there, &["fs", "cat", "box@clean", "/greeting"]),
        "hello"
    );
    let again = there.path().join("again.msb");
    export(&there, "box@clean", &again);
    let before = disk(&archive, &here.path().join("disk"));
    let after = disk(&again, &there.path().join("disk"));
    assert!(before == after, "another disk");
    let check = Command::new("e2fsck")
        .arg("-fn")
        .arg(there.path().join("disk/disk.img"))
        .output()
        .expect("e2fsck is there");
    assert!(check.status.success(), "{check:?}");
    printed(&there, &["snapshot", "verify", "box"]);
    printed(&there, &["fork", "box@clean", "fork"]);
    printed(&there, &["rm", "box", "fork"]);
}

#[test]
fn a_snapshot_goes_through_a_pipe() {
    let home = home_with_image();
    exported(&home);
    let piped = home.path().join("piped.msb");
    let mut export = home.command(&["snapshot", "export", "box@clean"]);
    export.stdout(File::create(&piped).expect("made"));
    assert!(export.status().expect("started").success());
    let mut import = home.command(&["snapshot", "import", "copy"]);
    let import = import.stdin(File::open(&piped).expect("opened")).output();
    let import = Said::from_output(&import.expect("started"));
    assert_eq!(import.stdout, "copy@clean\n", "{}", import.stderr);
    assert_eq!(
        fs::read(&piped).ok(),
        fs::read(home.path().join("clean.msb")).ok()
    );
}

#[test]
fn what_cannot_be_imported_says_why_and_leaves_nothing() {
    let home = home_with_image();
    let archive = exported(&home);
    let taken = import(&home, &archive, &[]);
    taken.assert_refused(&["the name 'box' is taken"]);
    let invalid = import(&home, &archive, &["a/b"]);
    invalid.assert_refused(&["'a/b' is not a sandbox name"]);
    let none = home.path().join("none");
    import(&home, &none, &[]).assert_refused(&["cannot open", "No such file"]);
    fs::write(&none, "PK").expect("written");
    import(&home, &none, &[]).assert_refused(&["it is not an archive of a snapshot"]);
    assert_eq!(directories(&home), 1);
    let empty = TestHome::new();
    let missing = import(&empty, &archive, &[]);
    missing.assert_refused(&[
        "cannot import the snapshot: its image",
        "is not in the store",
    ]);
    missing.assert_hint("msb pull");
    missing.assert_hint("msb save app | msb load");
    assert_eq!(directories(&empty), 0);
    let named = home.msb(&["snapshot", "export", "box"]);
    named.assert_refused(&["'box' is not a snapshot"]);
    let absent = home.msb(&["snapshot", "export", "-o", "x", "box@none"]);
    absent.assert_refused(&["sandbox box has no snapshot none"]);
}

#[test]
fn a_flipped_byte_and_a_truncated_file_are_named_and_leave_nothing() {
    let home = home_with_image();
    let archive = exported(&home);
    let whole = fs::read(&archive).expect("read");
    let damaged = home.path().join("damaged.msb");
    for flip in 0..FLIPS {
        let index = flip * (whole.len() - 1) / (FLIPS - 1);
        let mut bytes = whole.clone();
        bytes[index] ^= 1 << (flip % 8);
        fs::write(&damaged, bytes).expect("written");
        let refused = import(&home, &damaged, &["copy"]);
        assert_eq!(refused.code, Some(125), "byte {index}: {}", refused.stderr);
        let is_named = [
            "the archive is",
            "not an archive",
            "of the archive has",
            "the archive's",
        ]
        .iter()
        .any(|words| refused.stderr.contains(words));
        assert!(is_named, "byte {index}: {}", refused.stderr);
    }
    for length in [
        0,
        1,
        100,
        whole.len() / 2,
        whole.len() - 56,
        whole.len() - 1,
    ] {
        fs::write(&damaged, &whole[..length]).expect("written");
        let refused = import(&home, &damaged, &["copy"]);
        assert_eq!(
            refused.code,
            Some(125),
            "{length} bytes: {}",
            refused.stderr
        );
    }
    assert_eq!(directories(&home), 1);
    assert_eq!(import(&home, &archive, &["copy"]).stdout, "copy@clean\n");
}

#[test]
fn a_staged_directory_comes_along_and_leads_to_no_host() {
    let home = home_with_image();
    let archive = exported_with_staged(&home);
    let imported = import(&home, &archive, &["copy"]);
    assert_eq!(imported.stdout, "copy@clean\n", "{}", imported.stderr);
    let rules = "each rule of /work that lets changes out was left out";
    assert!(imported.stderr.contains(rules), "{}", imported.stderr);
    // The other host has no such directory.
    fs::remove_dir_all(home.path().join("project")).expect("removed");
    let inspected = printed(&home, &["inspect", "copy"]);
    assert!(!inspected.contains("project"), "{inspected}");
    let inspected: Value = serde_json::from_str(&inspected).expect("JSON");
    let mount = &inspected[0]["mounts"][0];
    assert_eq!(mount["type"], "staged");
    assert_eq!(mount["target"], "/work");
    assert!(mount["directory"].is_null(), "{mount}");

    let changes = "A /work/.envrc\nA /work/new\n";
    for words in [["diff", "copy"], ["diff", "copy@clean"]] {
        assert_eq!(printed(&home, &words), changes);
    }
    assert_eq!(printed(&home, &["fs", "cat", "copy", "/work/file"]), STAGED);
    let elsewhere = ["the directory staged at /work is on the host where"];
    for words in [&["apply", "copy"][..], &["restage", "copy"]] {
        let refused = home.msb(words);
        refused.assert_refused(&elsewhere);
        refused.assert_hint("msb apply --from /work NAME DIR");
    }
    let here = home.path().join("here");
    fs::create_dir(&here).expect("made");
    let to = here.to_str().expect("text");
    let applied = printed(&home, &["apply", "--from", "/work", "copy", to]);
    assert!(
        applied.contains("R ") && applied.contains(".envrc"),
        "{applied}"
    );
    let new = fs::read_to_string(here.join("new")).expect("applied");
    assert_eq!(new, "of the sandbox");
    assert!(!here.join(".envrc").exists(), "direnv runs it");

    // A fork and another export have the same files below their changes.
    printed(&home, &["fork", "copy@clean", "fork"]);
    assert_eq!(printed(&home, &["diff", "fork"]), changes);
    let again = home.path().join("again.msb");
    export(&home, "copy@clean", &again);
    let [before, after] = [(&archive, "before"), (&again, "after")]
        .map(|(archive, name)| part(archive, &home.path().join(name), "staged-0.erofs"));
    assert!(before == after, "another image");
    printed(&home, &["rm", "copy", "fork"]);
}

#[test]
fn a_flipped_byte_of_a_staged_image_is_reported_by_its_name_and_leaves_nothing() {
    let home = home_with_image();
    let archive = exported_with_staged(&home);
    let zstd = |option: &str, from: &Path, to: &Path| {
        let mut zstd = Command::new("zstd");
        let status = zstd.args(["-qf", option]).arg(from).arg("-o").arg(to);
        assert!(status.status().expect("zstd is there").success());
    };
    let tar = home.path().join("archive.tar");
    zstd("-d", &archive, &tar);
    let mut bytes = fs::read(&tar).expect("read");
    let mut places = bytes.windows(STAGED.len());
    let found = places.position(|bytes| bytes == STAGED.as_bytes());
    bytes[found.expect("in the image")] ^= 1;
    fs::write(&tar, bytes).expect("written");
    let damaged = home.path().join("damaged.msb");
    zstd("-3", &tar, &damaged);
    let refused = import(&home, &damaged, &["copy"]);
    refused.assert_refused(&["the archive is damaged in staged-0.erofs: its digest"]);
    assert_eq!(directories(&home), 1);
}
