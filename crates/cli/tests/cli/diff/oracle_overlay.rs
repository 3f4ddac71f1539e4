//! Changes that this machine's overlayfs makes, listed by msb and by two walks.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;

use rustix::fs::XattrFlags;

use super::mounted::mount_disks;
use super::walk::Walk;
use super::{home, printed};

/// Makes changes, and compares the two lists of them. Returns msb's as JSON.
fn check(what: &str, change: impl Fn(&Path)) -> serde_json::Value {
    let home = home();
    printed(&home, &["create", "--name", "work", "app:1"]);
    let mounts = mount_disks(&home, "app:1");
    let before = Walk::new(&mounts.root());
    change(&mounts.root());
    drop(mounts);
    let mounts = mount_disks(&home, "app:1");
    let after = Walk::new(&mounts.root());
    drop(mounts);
    let expected = before.changes(&after);
    let mut found: Vec<String> = printed(&home, &["diff", "work"])
        .lines()
        .map(str::to_owned)
        .collect();
    found.sort_by(|one, other| one[2..].cmp(&other[2..]));
    let json: serde_json::Value =
        serde_json::from_str(&printed(&home, &["diff", "--format", "json", "work"])).expect("JSON");
    let regrouped = json.as_array().expect("a list").iter().any(|change| {
        let changed = change["changed"].as_array().expect("a list");
        changed.iter().any(|name| name == "links")
    });
    assert_eq!(regrouped, !before.has_groups_of(&after), "{what}: {json:#}");
    if !regrouped {
        assert_eq!(found, expected, "{what}");
    }
    json
}

fn find<'a>(json: &'a serde_json::Value, path: &str) -> &'a serde_json::Value {
    let changes = json.as_array().expect("a list");
    let found = changes.iter().find(|change| change["path"] == path);
    found.unwrap_or_else(|| panic!("no {path} in {json:#}"))
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("changed");
}

#[test]
fn oracle_equal_copies_are_no_change() {
    let json = check("equal copies", |root| {
        for path in ["etc/motd", "usr/bin/tool"] {
            let path = root.join(path);
            let times = fs::metadata(&path)
                .expect("there")
                .modified()
                .expect("known");
            let file = File::options().write(true).open(&path).expect("opened");
            file.write_all_at(&fs::read(&path).expect("read"), 0)
                .expect("written");
            file.set_modified(times).expect("set");
        }
        chmod(&root.join("usr/bin/tool"), 0o4755);
        // A directory is copied up with what is made in it.
        fs::write(root.join("usr/lib/new"), "").expect("made");
        fs::remove_file(root.join("usr/lib/new")).expect("removed");
    });
    assert_eq!(json, serde_json::json!([]));
}

#[test]
fn oracle_contents_and_attributes_are_changed() {
    let json = check("attributes", |root| {
        let file = File::options()
            .write(true)
            .open(root.join("usr/lib/deep/19"));
        file.expect("opened")
            .write_all_at(b"X", 70_000)
            .expect("written");
        chmod(&root.join("usr/lib/deep/3"), 0o600);
        chown(root.join("usr/lib/deep/4"), Some(7), Some(8)).expect("changed");
        chmod(&root.join("var"), 0o700);
        rustix::fs::setxattr(
            root.join("etc/noted"),
            "user.note",
            b"new",
            XattrFlags::empty(),
        )
        .expect("set");
        let time = std::time::SystemTime::UNIX_EPOCH;
        let touched = File::options()
            .write(true)
            .open(root.join("usr/lib/deep/5"));
        touched.expect("opened").set_modified(time).expect("set");
        fs::remove_file(root.join("usr/bin/alias")).expect("removed");
        symlink("again", root.join("usr/bin/alias")).expect("made");
    });
    assert_eq!(
        find(&json, "/usr/lib/deep/3")["changed"],
        serde_json::json!(["mode"])
    );
    assert_eq!(
        find(&json, "/usr/lib/deep/4")["changed"],
        serde_json::json!(["owner"])
    );
    assert_eq!(
        find(&json, "/usr/lib/deep/5")["changed"],
        serde_json::json!(["mtime"])
    );
    assert_eq!(
        find(&json, "/etc/noted")["changed"],
        serde_json::json!(["xattrs"])
    );
}

#[test]
fn oracle_directories_are_replaced_and_renamed() {
    let json = check("directories", |root| {
        fs::remove_dir_all(root.join("var/cache")).expect("removed");
        fs::write(root.join("var/cache"), "a file").expect("written");
        fs::remove_file(root.join("etc/passwd")).expect("removed");
        fs::create_dir(root.join("etc/passwd")).expect("made");
        fs::write(root.join("etc/passwd/inside"), "").expect("written");
        fs::rename(root.join("usr/lib"), root.join("moved")).expect("moved");
        fs::rename(root.join("moved/deep/7"), root.join("moved/seven")).expect("moved");
        fs::write(root.join("moved/deep/new"), "new").expect("written");
        fs::remove_dir_all(root.join("etc")).expect("removed");
        fs::create_dir(root.join("etc")).expect("made");
        fs::write(root.join("etc/motd"), "another\n").expect("written");
    });
    assert_eq!(find(&json, "/moved")["renamed_from"], "/usr/lib");
    assert_eq!(
        find(&json, "/moved/deep")["renamed_from"],
        serde_json::Value::Null
    );
    assert_eq!(find(&json, "/var/cache")["new"]["type"], "file");
}

#[test]
fn oracle_a_directory_that_comes_back_is_compared_by_its_files() {
    let json = check("there and back", |root| {
        fs::rename(root.join("usr/lib"), root.join("usr/away")).expect("moved");
        fs::rename(root.join("usr/away"), root.join("usr/lib")).expect("moved");
        let text = fs::read(root.join("var/cache/3")).expect("read");
        fs::remove_dir_all(root.join("var/cache")).expect("removed");
        fs::create_dir(root.join("var/cache")).expect("made");
        fs::write(root.join("var/cache/3"), text).expect("written");
    });
    assert_eq!(
        find(&json, "/var/cache/3")["changed"],
        serde_json::json!(["mtime"])
    );
}

#[test]
fn oracle_hard_links_cross_the_layers() {
    let json = check("a new name", |root| {
        fs::hard_link(root.join("usr/bin/tool"), root.join("etc/tool")).expect("linked");
    });
    assert_eq!(find(&json, "/etc/tool")["hard_link"], "/usr/bin/again");
    check("all names of a file", |root| {
        let file = File::options().append(true).open(root.join("usr/lib/tool"));
        std::io::Write::write_all(&mut file.expect("opened"), b"echo\n").expect("written");
    });
    check("one name is replaced", |root| {
        fs::remove_file(root.join("usr/bin/again")).expect("removed");
        fs::copy(root.join("usr/bin/tool"), root.join("usr/bin/again")).expect("copied");
    });
}

#[test]
fn oracle_names_of_any_bytes_and_sparse_files() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let json = check("names", |root| {
        fs::write(root.join("a b \u{e9}"), "").expect("written");
        let file = File::create(root.join("sparse")).expect("made");
        file.write_all_at(b"x", 1 << 30).expect("written");
        file.set_len(3 << 30).expect("made longer");
        drop(file);
        fs::remove_file(root.join("sparse")).expect("removed");
        let file = File::create(root.join("holes")).expect("made");
        file.write_all_at(b"x", 1 << 22).expect("written");
    });
    assert_eq!(find(&json, "/holes")["new"]["size_bytes"], (1 << 22) + 1);
    let home = home();
    printed(&home, &["create", "--name", "work", "app:1"]);
    let mounts = mount_disks(&home, "app:1");
    fs::write(mounts.root().join(OsStr::from_bytes(b"\xff\n")), "").expect("written");
    drop(mounts);
    assert_eq!(printed(&home, &["diff", "work"]), "A \"/\\377\\n\"\n");
    let json: serde_json::Value =
        serde_json::from_str(&printed(&home, &["diff", "--format", "json", "work"])).expect("JSON");
    assert_eq!(json[0]["path_base64"], "L/8K");
}

#[test]
fn oracle_mount_points_are_no_change() {
    let json = check_own(|root| {
        for name in ["proc", "dev", "srv", "srv/data"] {
            fs::create_dir(root.join(name)).expect("made");
        }
        let tmp = root.join("tmp");
        fs::create_dir(&tmp).expect("made");
        fs::set_permissions(&tmp, Permissions::from_mode(0o1777)).expect("set");
        for name in ["hosts", "hostname", "resolv.conf"] {
            fs::write(root.join("etc").join(name), "").expect("made");
        }
    });
    assert_eq!(json, "");
    let json = check_own(|root| {
        fs::create_dir(root.join("srv")).expect("made");
        fs::create_dir(root.join("srv/data")).expect("made");
        fs::write(root.join("srv/other"), "").expect("made");
        fs::write(root.join("etc/hosts"), "127.0.0.1 me\n").expect("made");
    });
    assert_eq!(json, "A /etc/hosts\nA /srv\nA /srv/other\n");
}

/// Returns the changes of a sandbox with a mount at `/srv/data`.
fn check_own(change: impl Fn(&Path)) -> String {
    let home = home();
    printed(
        &home,
        &["create", "--name", "work", "--tmpfs", "/srv/data", "app:1"],
    );
    let mounts = mount_disks(&home, "app:1");
    change(&mounts.root());
    drop(mounts);
    printed(&home, &["diff", "work"])
}
