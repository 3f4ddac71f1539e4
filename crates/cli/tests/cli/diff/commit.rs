//! `msb commit`: images of sandboxes whose files this machine's kernel changed.

use std::fs;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::image;
use super::mounted::mount_disks;
use super::walk::Walk;
use super::{home, printed};
use crate::support::TestHome;

fn inspected(home: &TestHome, image: &str) -> Value {
    serde_json::from_str(&printed(home, &["image", "inspect", image])).expect("JSON")
}

fn layers(home: &TestHome, image: &str) -> Vec<Value> {
    let layers = inspected(home, image)["layers"].as_array().cloned();
    layers.expect("a list")
}

/// Returns the files of an image as umoci unpacks them, as root.
fn unpack(home: &TestHome, image: &str) -> PathBuf {
    let (layout, bundle) = (home.path().join("layout"), home.path().join("bundle"));
    let path = layout.to_str().expect("text");
    printed(home, &["save", "--format", "oci-dir", "-o", path, image]);
    let tag = image.split(':').nth(1).expect("a tag");
    let output = Command::new("umoci")
        .args(["unpack", "--image", &format!("{path}:{tag}")])
        .arg(&bundle)
        .output()
        .expect("umoci is installed");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "umoci: {message}");
    bundle.join("rootfs")
}

#[test]
fn oracle_a_committed_image_has_what_the_kernel_shows() {
    let home = home();
    printed(
        &home,
        &["create", "--name", "work", "--upper-size", "64M", "app:1"],
    );
    let mounts = mount_disks(&home, "app:1");
    let root = mounts.root();
    image::change(&root);
    fs::create_dir(root.join("var/cache")).expect("made");
    fs::write(root.join("var/cache/new"), "new\n").expect("written");
    chown(root.join("etc/passwd"), Some(1000), Some(70_000)).expect("set");
    let sparse = fs::File::create(root.join("sparse")).expect("created");
    sparse.set_len(64 << 20).expect("set");
    drop(sparse);
    let expected = Walk::new(&root);
    drop(mounts);

    let changes = printed(&home, &["diff", "work"]);
    let digest = printed(&home, &["commit", "work", "app:2"]);
    assert!(digest.starts_with("sha256:"), "{digest}");
    assert_eq!(printed(&home, &["diff", "app:2", "work"]), "");
    assert_eq!(printed(&home, &["diff", "app:1", "app:2"]), changes);
    let (parent, child) = (layers(&home, "app:1"), layers(&home, "app:2"));
    assert_eq!((&child[..1], child.len()), (&parent[..], 2));
    let unpacked = unpack(&home, "app:2");
    let differing = expected.changes(&Walk::new(&unpacked));
    assert!(differing.is_empty(), "umoci: {differing:?}");
    // Nothing changed since: it is the same image.
    assert_eq!(printed(&home, &["commit", "work", "app:same"]), digest);

    printed(&home, &["rm", "work"]);
    printed(
        &home,
        &["create", "--name", "next", "--upper-size", "64M", "app:2"],
    );
    let mounts = mount_disks(&home, "app:2");
    let differing = expected.changes(&Walk::new(&mounts.root()));
    assert!(differing.is_empty(), "{differing:?}");
}

#[test]
fn a_second_commit_is_a_child_of_the_first() {
    let home = home();
    printed(
        &home,
        &["create", "--name", "work", "--upper-size", "64M", "app:1"],
    );
    let write = |path: &str, text: &str| {
        let mounts = mount_disks(&home, "app:1");
        fs::write(mounts.root().join(path), text).expect("written");
    };
    write("etc/first", &"x".repeat(1 << 20));
    let words = [
        "-m",
        "first",
        "-a",
        "me",
        "-c",
        "ENV A=1",
        "-c",
        "CMD [\"/bin/a\"]",
    ];
    printed(
        &home,
        &[&["commit"], &words[..], &["work", "app:2"]].concat(),
    );
    write("etc/second", "y");
    printed(&home, &["commit", "-c", "ENV B=$A.2", "work", "app:3"]);
    let (second, third) = (layers(&home, "app:2"), layers(&home, "app:3"));
    assert_eq!((&third[..2], third.len()), (&second[..], 3));
    let layer = third[2].as_str().expect("a path");
    assert!(
        fs::metadata(layer).expect("there").len() < 64 << 10,
        "the layer has all changes"
    );
    let config = &inspected(&home, "app:3")["config"];
    assert_eq!(config["Env"], serde_json::json!(["A=1", "B=1.2"]));
    assert_eq!(config["Cmd"], serde_json::json!(["/bin/a"]));
    assert_eq!(printed(&home, &["diff", "app:3", "work"]), "");
    // Without the image it is a child of the sandbox's own.
    printed(&home, &["rmi", "app:3"]);
    printed(&home, &["commit", "work", "app:4"]);
    assert_eq!(layers(&home, "app:4").len(), 2);
}

#[test]
fn the_same_changes_make_the_same_image() {
    let digest = || {
        let home = home();
        let file = home.path().join("file");
        fs::write(&file, "content\n").expect("written");
        let copy = format!("{}:/etc/motd", file.display());
        printed(
            &home,
            &[
                "create", "--name", "work", "--copy", &copy, "--mkdir", "/srv", "app:1",
            ],
        );
        let mut command = home.command(&["commit", "-m", "same", "work", "app:2"]);
        let output = command
            .env("SOURCE_DATE_EPOCH", "1000000000")
            .output()
            .expect("started");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let created = inspected(&home, "app:2")["created"].clone();
        assert_eq!(created, "2001-09-09T01:46:40Z");
        String::from_utf8(output.stdout).expect("text")
    };
    let first = digest();
    // Files that are written later have other times.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(digest(), first);
}

#[test]
fn what_cannot_be_committed_leaves_no_image() {
    let home = home();
    let file = home.path().join("file");
    fs::write(&file, "content\n").expect("written");
    let copy = format!("{}:/etc/.wh.motd", file.display());
    printed(
        &home,
        &["create", "--name", "work", "--copy", &copy, "app:1"],
    );
    let images = printed(&home, &["images"]);
    let refused = home.msb(&["commit", "work", "app:2"]);
    refused.assert_refused(&["cannot commit sandbox work", "/etc/.wh.motd"]);
    refused.assert_hint("rename the file");
    home.msb(&["commit", "-c", "RUN make", "work", "app:2"])
        .assert_refused(&["'RUN make' is not an instruction"]);
    home.msb(&["commit", "work", "UPPER"])
        .assert_refused(&["'UPPER' cannot be the name of an image"]);
    home.msb(&["commit", "nothing", "app:2"])
        .assert_refused(&["nothing"]);
    assert_eq!(printed(&home, &["images"]), images);
}

#[test]
fn a_killed_commit_leaves_no_half_image() {
    let home = home();
    let directory = home.path().join("files");
    fs::create_dir(&directory).expect("made");
    for number in 0..100_u8 {
        let path = directory.join(number.to_string());
        fs::write(path, vec![number; 100_000]).expect("written");
    }
    let copy = format!("{}:/files", directory.display());
    printed(
        &home,
        &["create", "--name", "work", "--copy", &copy, "app:1"],
    );
    let command = || {
        let mut command = home.command(&["commit", "work", "app:2"]);
        command.env("SOURCE_DATE_EPOCH", "1000000000");
        command.stdout(std::process::Stdio::null());
        command
    };
    for round in 0..6 {
        let mut running = command().spawn().expect("started");
        std::thread::sleep(std::time::Duration::from_millis(20 + 40 * round));
        running.kill().expect("killed");
        running.wait().expect("ended");
        printed(&home, &["image", "verify"]);
        if home.msb(&["image", "inspect", "app:2"]).code == Some(0) {
            let changed = printed(&home, &["diff", "app:1", "app:2"]);
            assert_eq!(changed.lines().count(), 101, "{changed}");
        }
    }
    assert!(command().status().expect("started").success());
    let digest = inspected(&home, "app:2")["manifest_digest"].clone();
    printed(
        &home,
        &["create", "--name", "again", "--copy", &copy, "app:1"],
    );
    let output = home
        .command(&["commit", "again", "app:3"])
        .env("SOURCE_DATE_EPOCH", "1000000000")
        .output()
        .expect("started");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), digest);
}
