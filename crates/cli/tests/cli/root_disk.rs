//! Sandboxes of disk images that never ran.

use std::fs;
use std::process::Command;

use crate::support::TestHome;

/// Makes an ext4 of 32 MiB in the test's directory, and returns its path.
fn disk(home: &TestHome, name: &str) -> String {
    let path = home.path().join(name);
    let made = Command::new("/sbin/mke2fs")
        .args(["-q", "-t", "ext4"])
        .arg(&path)
        .arg("32M")
        .status();
    assert!(made.expect("mke2fs runs (package e2fsprogs)").success());
    path.to_str().expect("text").to_owned()
}

fn printed(home: &TestHome, words: &[&str]) -> String {
    let said = home.msb(words);
    assert_eq!(said.code, Some(0), "{words:?}: {}", said.stderr);
    said.stdout
}

#[test]
fn a_sandbox_of_a_disk_image_says_so_and_has_snapshots_and_forks() {
    let home = TestHome::new();
    let disk = disk(&home, "disk.img");
    let before = fs::read(&disk).expect("read");
    let create = [
        "create",
        "-q",
        "--name",
        "box",
        "--root-disk",
        &disk,
        "true",
    ];
    printed(&home, &create);
    let shown =
        "{{.image}} {{.root_disk.format}} {{.root_disk.filesystem}} {{.root_disk.partition}}";
    let expected = format!("{disk} raw ext4 <nil>\n");
    let inspected = printed(&home, &["inspect", "-f", shown, "box"]);
    assert_eq!(inspected, expected);
    let listed = printed(&home, &["ps", "-a", "--format", "json"]);
    assert!(listed.contains("\"filesystem\": \"ext4\""), "{listed}");
    assert_eq!(printed(&home, &["snapshot", "create", "box@a"]), "box@a\n");
    assert_eq!(printed(&home, &["fork", "box@a", "two"]), "two\n");
    let from = ["create", "-q", "--name", "three", "--from", "box@a", "true"];
    printed(&home, &from);
    let path = ["inspect", "-f", "{{.root_disk.path}}", "two", "three"];
    assert_eq!(printed(&home, &path), format!("{disk}\n{disk}\n"));
    printed(&home, &["snapshot", "verify", "box"]);
    printed(&home, &["snapshot", "prune", "--all", "--force", "box"]);
    // Its generation is not copied to be merged.
    let small = printed(&home, &["inspect", "-f", "{{.allocated_bytes}}", "box"]);
    assert!(
        small.trim().parse::<u64>().expect("a number") < 1 << 20,
        "{small}"
    );
    printed(&home, &["rm", "box", "two", "three"]);
    assert!(
        fs::read(&disk).expect("read") == before,
        "the file was written to"
    );
}

#[test]
fn what_needs_an_image_is_refused_with_the_reason() {
    let home = TestHome::new();
    let disk = disk(&home, "disk.img");
    printed(
        &home,
        &[
            "create",
            "-q",
            "--name",
            "box",
            "--root-disk",
            &disk,
            "true",
        ],
    );
    printed(&home, &["snapshot", "create", "box@a"]);
    let reason = format!(
        "the root of sandbox box is the disk image {disk}, whose files only its guest can read"
    );
    for words in [
        &["diff", "box"][..],
        &["diff", "box@a", "box"],
        &["commit", "box", "app:2"],
        &["commit", "box@a", "app:2"],
        &["discard", "box", "/etc"],
        &["apply", "box", "."],
        &["cp", "box:/etc/hosts", "-"],
        &["fs", "ls", "box@a", "/"],
    ] {
        home.msb(words).assert_refused(&[&reason]);
    }
}

#[test]
fn a_disk_that_cannot_be_a_root_is_refused_and_nothing_is_left() {
    let home = TestHome::new();
    let disk = disk(&home, "disk.img");
    let refused = |root: &str, expected: &str| {
        let words = ["create", "--name", "box", "--root-disk", root, "true"];
        home.msb(&words).assert_refused(&[expected]);
    };
    refused("/nowhere.img", "cannot open /nowhere.img");
    refused("/dev/null", "/dev/null is not a regular file");
    refused(&format!("{disk}:fstype=xfs"), "the disk has ext4, not xfs");
    refused(
        &format!("{disk}:partition=2"),
        "it has no partition 2: it has no partition table",
    );
    refused(
        &format!("{disk}:format=vmdk"),
        "it is not vmdk, it begins as raw",
    );
    let empty = home.path().join("empty.img");
    fs::write(&empty, [0; 8192]).expect("written");
    refused(
        empty.to_str().expect("text"),
        "neither a partition table nor a known filesystem",
    );
    let words = ["create", "--root-disk", &disk];
    home.msb(&words)
        .assert_refused(&["no command specified, and the disk image"]);
    let words = ["create", "--root-disk", &disk, "--mkdir", "/srv", "true"];
    home.msb(&words)
        .assert_refused(&["files cannot be changed before the first boot"]);
    let words = ["create", "--root-disk", &format!("{disk}:size=1"), "true"];
    let said = home.msb(&words);
    let expected = "write format=, fstype= or partition=";
    assert!(said.stderr.contains(expected), "{}", said.stderr);
    assert_eq!(said.code, Some(125));
    assert_eq!(printed(&home, &["ps", "-aq"]), "");
}
