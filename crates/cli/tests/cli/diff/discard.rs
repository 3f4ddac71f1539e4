//! `msb discard`: changes that this machine's kernel made are taken back on the disk.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::mounted::{mount_disks, upper};
use super::walk::Walk;
use super::{home, printed};

#[test]
fn oracle_some_changes_are_taken_back_and_the_rest_stays() {
    let home = home();
    let words = [
        "create",
        "--name",
        "work",
        "--add-host",
        "db:10.0.0.1",
        "--upper-size",
        "64M",
    ];
    printed(&home, &[&words[..], &["app:1"]].concat());
    let mounts = mount_disks(&home, "app:1");
    let root = mounts.root();
    let before = Walk::new(&root);
    fs::write(root.join("etc/motd"), "changed\n").expect("written");
    fs::write(root.join("etc/new"), "new\n").expect("written");
    fs::remove_dir_all(root.join("var/cache")).expect("removed");
    fs::rename(root.join("usr/lib"), root.join("moved")).expect("moved");
    fs::set_permissions(root.join("usr/bin/tool"), Permissions::from_mode(0o700)).expect("set");
    fs::write(root.join("kept"), "kept\n").expect("written");
    drop(mounts);

    let all = "C /etc/motd\nA /etc/new\nA /kept\nA /moved\n";
    assert!(printed(&home, &["diff", "work"]).starts_with(all));
    let taken = "C /etc/motd\nA /etc/new\nD /var/cache\n";
    // What is done is the opposite of what was done.
    let opposite = "C /etc/motd\nD /etc/new\nA /var/cache\n";
    let assert_opposite = |shown: &str| {
        // The files of a directory that comes back are listed, too.
        let is_top = |line: &&str| !line.starts_with("A /var/cache/");
        let tops: Vec<&str> = shown.lines().filter(is_top).collect();
        assert_eq!(tops, opposite.lines().collect::<Vec<_>>());
        assert!(shown.contains("A /var/cache/1\n"), "{shown}");
    };
    let words = ["work", "/etc", "/var/cache"];
    assert_opposite(&printed(&home, &[&["discard", "-n"], &words[..]].concat()));
    let remaining = |shown: &str| -> Vec<String> {
        let lines = shown
            .lines()
            .filter(|line| !taken.contains(&format!("{line}\n")));
        lines.map(str::to_owned).collect()
    };
    let expected = remaining(&printed(&home, &["diff", "work"]));
    assert_opposite(&printed(&home, &[&["discard"], &words[..]].concat()));
    let found: Vec<String> = printed(&home, &["diff", "work"])
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(found, expected);

    let checked = Command::new("e2fsck")
        .args(["-fn"])
        .arg(upper(&home))
        .output();
    let checked = checked.expect("e2fsck runs");
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stdout)
    );
    // The kernel shows the same, and accepts the disk for its image.
    let mounts = mount_disks(&home, "app:1");
    let after = Walk::new(&mounts.root());
    let mut changes = before.changes(&after);
    changes.sort_by(|one, other| one[2..].cmp(&other[2..]));
    let mut expected = expected;
    expected.sort_by(|one, other| one[2..].cmp(&other[2..]));
    assert_eq!(changes, expected);
    let hosts = fs::read_to_string(mounts.disk().join("hosts")).expect("kept");
    assert!(hosts.contains("10.0.0.1"), "{hosts}");
    drop(mounts);

    printed(&home, &["discard", "work", "/"]);
    assert_eq!(printed(&home, &["diff", "work"]), "");
}

#[test]
fn what_cannot_be_taken_back_changes_nothing() {
    let home = home();
    printed(
        &home,
        &["create", "--name", "work", "--rm-path", "/usr", "app:1"],
    );
    let disk = fs::read(upper(&home)).expect("read");
    let refused = home.msb(&["discard", "work", "/usr/bin/tool"]);
    refused.assert_refused(&["below '/usr'", "deleted"]);
    refused.assert_hint("discard /usr as a whole");
    home.msb(&["discard", "work", "/etc/../usr"])
        .assert_refused(&["'..'"]);
    home.msb(&["discard", "work", "/nowhere"])
        .assert_refused(&["neither side has"]);
    assert!(
        fs::read(upper(&home)).expect("read") == disk,
        "the disk is another one"
    );
}
