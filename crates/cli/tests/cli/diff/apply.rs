//! `msb apply`: changes of a sandbox in a directory of this host.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::image;
use super::mounted::mount_disks;
use super::walk::Walk;
use super::{home, printed};
use crate::support::TestHome;

/// Makes the sandboxes `before` and `agent` of a project, and changes the second one's.
fn project(home: &TestHome) -> std::path::PathBuf {
    let project = home.path().join("project");
    fs::create_dir_all(project.join("src")).expect("made");
    for (path, text) in [("src/a", "1\n"), ("src/b", "2\n"), ("notes", "3\n")] {
        fs::write(project.join(path), text).expect("written");
    }
    let copy = format!("{}:/work", project.display());
    printed(
        home,
        &["create", "--name", "before", "--copy", &copy, "app:1"],
    );
    let changed = home.path().join("changed");
    fs::create_dir_all(changed.join("src/new")).expect("made");
    for (path, text) in [("src/a", "one\n"), ("src/new/c", "4\n"), ("notes", "3\n")] {
        fs::write(changed.join(path), text).expect("written");
    }
    fs::set_permissions(changed.join("src/new/c"), Permissions::from_mode(0o755)).expect("set");
    let copy = format!("{}:/work", changed.display());
    let words = [
        "create", "--name", "agent", "--mkdir", "/srv/x", "--copy", &copy, "app:1",
    ];
    printed(home, &words);
    project
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_changes_of_an_agent_come_back_to_the_project() {
    let home = home();
    let project = project(&home);
    let directory = project.to_str().expect("text");
    let words = [
        "apply", "--from", "/work", "--base", "before", "agent", directory,
    ];
    let done = format!(
        "C {directory}/src/a\nD {directory}/src/b\nA {directory}/src/new\nA {directory}/src/new/c\n"
    );
    let dry = printed(&home, &[&words[..], &["-n"]].concat());
    assert_eq!(
        (dry, text(&project.join("src/a"))),
        (done.clone(), "1\n".into())
    );
    let mut chosen = words.to_vec();
    chosen.push("/work/src/b");
    assert_eq!(printed(&home, &chosen), format!("D {directory}/src/b\n"));
    let rest = done.replace(&format!("D {directory}/src/b\n"), "");
    assert_eq!(printed(&home, &words), rest);
    assert_eq!(text(&project.join("src/a")), "one\n");
    let mode = fs::metadata(project.join("src/new/c"))
        .expect("there")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o755);
    assert_eq!(printed(&home, &words), "");
    let json = printed(&home, &[&words[..], &["--format", "json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        json,
        serde_json::json!({"changes": [], "sockets": [], "left_out": [], "marked": [], "refused": []})
    );
}

#[test]
fn conflicts_are_named_and_nothing_is_done() {
    let home = home();
    let project = project(&home);
    let directory = project.to_str().expect("text");
    fs::write(project.join("src/a"), "mine\n").expect("written");
    fs::remove_file(project.join("src/b")).expect("removed");
    symlink("/", project.join("src/b")).expect("made");
    let words = [
        "apply", "--from", "/work", "--base", "before", "agent", directory,
    ];
    for words in [&words[..], &[&words[..], &["--dry-run"]].concat()] {
        let refused = home.msb(words);
        assert_eq!(refused.code, Some(125), "{}", refused.stderr);
        for line in [
            format!("msb: cannot change {directory}/src/a: it differs from both"),
            format!("msb: cannot change {directory}/src/b: it differs from both"),
            "msb: cannot apply the changes: 2 files are in the way".to_owned(),
        ] {
            assert!(refused.stderr.contains(&line), "{line}: {}", refused.stderr);
        }
        refused.assert_hint("--exclude");
        assert!(!project.join("src/new").exists());
    }
    home.msb(&[
        "apply",
        "--from",
        "/work",
        "agent",
        directory,
        "/work/src/a",
    ])
    .assert_refused(&["src/a", "already exists"]);
    home.msb(&["apply", "--from", "/work", "agent", directory, "/etc"])
        .assert_refused(&["'/etc' is not below '/work'"]);
    home.msb(&["apply", "--from", "/etc/motd", "agent", directory])
        .assert_refused(&["no directory 'etc/motd'"]);
    let missing = home.msb(&["apply", "agent", "/nowhere/at/all"]);
    missing.assert_refused(&["/nowhere/at/all"]);
    missing.assert_hint("mkdir");
}

#[test]
fn oracle_a_copy_of_the_image_becomes_what_the_kernel_shows() {
    let home = home();
    printed(
        &home,
        &["create", "--name", "work", "--upper-size", "64M", "app:1"],
    );
    let copy = home.path().join("copy");
    let mounts = mount_disks(&home, "app:1");
    let root = mounts.root();
    let duplicate = |to: &Path| {
        let copied = std::process::Command::new("cp")
            .arg("-a")
            .arg(&root)
            .arg(to)
            .status();
        assert!(copied.expect("cp runs").success());
    };
    duplicate(&copy);
    image::change(&root);
    let expected = Walk::new(&root);
    drop(mounts);

    let directory = copy.to_str().expect("text");
    printed(&home, &["apply", "--owner", "work", directory]);
    let differing = expected.changes(&Walk::new(&copy));
    // Times of directories follow from changes of their names.
    assert!(differing.is_empty(), "{differing:?}");
    assert_eq!(printed(&home, &["apply", "--owner", "work", directory]), "");
}

#[test]
fn a_killed_apply_leaves_whole_files_and_is_finished_by_the_next() {
    const FILES: usize = 200;
    let home = home();
    let (old, new) = (home.path().join("old"), home.path().join("new"));
    for (directory, text) in [(&old, "old\n"), (&new, "new\n")] {
        fs::create_dir(directory).expect("made");
        for number in 0..FILES {
            let path = directory.join(format!("{number:03}"));
            fs::write(path, text.repeat(number + 1)).expect("written");
        }
    }
    for (name, directory) in [("before", &old), ("agent", &new)] {
        let copy = format!("{}:/work", directory.display());
        printed(&home, &["create", "--name", name, "--copy", &copy, "app:1"]);
    }
    let directory = old.to_str().expect("text");
    let words = [
        "apply", "--from", "/work", "--base", "before", "agent", directory,
    ];
    let is_whole = |number: usize| {
        let found = text(&old.join(format!("{number:03}")));
        ["old\n", "new\n"]
            .iter()
            .any(|line| found == line.repeat(number + 1))
    };
    for round in 0..6 {
        let mut running = home.command(&words).spawn().expect("started");
        std::thread::sleep(std::time::Duration::from_millis(20 + 25 * round));
        running.kill().expect("killed");
        running.wait().expect("ended");
        assert!((0..FILES).all(is_whole), "a file is neither old nor new");
    }
    printed(&home, &words);
    for number in 0..FILES {
        assert_eq!(
            text(&old.join(format!("{number:03}"))),
            "new\n".repeat(number + 1)
        );
    }
    assert_eq!(
        fs::read_dir(&old).expect("listed").count(),
        FILES,
        "something is left"
    );
}

#[test]
fn a_directory_without_room_stays_as_it_is() {
    let home = home();
    let (file, full) = (home.path().join("file"), home.path().join("full"));
    fs::write(&file, vec![7; 2 << 20]).expect("written");
    fs::create_dir(&full).expect("made");
    let copy = format!("{}:/a", file.display());
    printed(
        &home,
        &[
            "create", "--name", "work", "--mkdir", "/b", "--copy", &copy, "app:1",
        ],
    );
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
        .arg(&full)
        .status();
    assert!(mounted.expect("mount runs").success());
    let refused = home.msb(&["apply", "work", full.to_str().expect("text")]);
    let count = fs::read_dir(&full).expect("listed").count();
    assert!(testkit::unmount(&full));
    refused.assert_refused(&["2097152 bytes", "are free"]);
    assert_eq!(count, 0, "something was written");
}
