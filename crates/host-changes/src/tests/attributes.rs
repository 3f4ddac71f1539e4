//! Permissions and owners.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use fstree::Name;
use tree_diff::InMemory;

use super::super::host_directory::HostDirectory;
use super::super::unfinished_name::is_unfinished;
use super::super::write::{Written, run_all};
use super::super::{ApplyError, ApplyOptions, ConflictReason};
use super::{Failed, apply, mode, plan, run, set_metadata, set_mode, temporary, tree, write_tree};

/// The tests of owners take root.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn permissions_that_the_sandbox_did_not_change_are_the_hosts() {
    let host = temporary();
    write_tree(&[("a", "1"), ("b", "1")], host.path());
    let mode = |path: &str, mode| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(host.path().join(path), permissions).expect("set");
    };
    mode("a", 0o600);
    let (old, mut new) = (
        tree(&[("a", "1"), ("b", "1")]),
        tree(&[("a", "2"), ("b", "1")]),
    );
    let id = new.find(b"b").expect("there");
    new.inode_mut(id).metadata.mode = 0o4750;
    assert_eq!(
        apply(&old, &new, host.path(), "").expect("applied"),
        ["C a", "C b"]
    );
    let found = |path: &str| fs::metadata(host.path().join(path)).expect("there").mode() & 0o7777;
    assert_eq!((found("a"), found("b")), (0o600, 0o750));
    mode("b", 0o777);
    let Err(Failed::Conflicts(conflicts)) = apply(&old, &new, host.path(), "") else {
        panic!("no conflict");
    };
    assert_eq!(conflicts, [("b".to_owned(), ConflictReason::Differs)]);
}

#[test]
fn a_setuid_bit_stays_with_its_owner_alone() {
    let host = temporary();
    let files = |content| {
        let mut files = tree(&[("sudo", content)]);
        set_metadata(&mut files, "sudo", |metadata| metadata.mode = 0o4755);
        files
    };
    let (old, new) = (InMemory(files("!1")), InMemory(files("!2")));
    for keep_owner in [false, true] {
        if keep_owner && !is_root() {
            continue;
        }
        write_tree(&[("sudo", "!1")], host.path());
        set_mode(host.path().join("sudo"), 0o4755);
        let directory = HostDirectory::open(host.path()).expect("open");
        let options = ApplyOptions {
            keep_owner,
            ..ApplyOptions::default()
        };
        let plan = plan((&old, &new), &directory, &options);
        run((&old, &new), &directory, &options, &plan).expect("applied");
        assert_eq!(fs::read(host.path().join("sudo")).expect("there"), b"!2");
        let expected = if keep_owner { 0o4755 } else { 0o755 };
        assert_eq!(mode(host.path().join("sudo")), expected);
    }
}

#[test]
fn a_symlink_gets_its_new_owner() {
    if !is_root() {
        return;
    }
    let host = temporary();
    write_tree(&[("l", "->a")], host.path());
    let old = tree(&[("l", "->a")]);
    let mut new = tree(&[("l", "->a")]);
    set_metadata(&mut new, "l", |metadata| metadata.uid = 7);
    let directory = HostDirectory::open(host.path()).expect("open");
    let options = ApplyOptions {
        keep_owner: true,
        ..ApplyOptions::default()
    };
    let (old, new) = (InMemory(old), InMemory(new));
    let plan = plan((&old, &new), &directory, &options);
    run((&old, &new), &directory, &options, &plan).expect("applied");
    let metadata = fs::symlink_metadata(host.path().join("l")).expect("there");
    assert_eq!(metadata.uid(), 7);
}

#[test]
fn directories_keep_the_hosts_setgid_bit() {
    let host = temporary();
    write_tree(&[("d/a", "1")], host.path());
    set_mode(host.path().join("d"), 0o2755);
    let old = tree(&[("d/a", "1")]);
    let mut new = tree(&[("d/a", "1"), ("d/new/b", "1")]);
    set_metadata(&mut new, "d", |metadata| metadata.mode = 0o775);
    apply(&old, &new, host.path(), "").expect("applied");
    assert_eq!(mode(host.path().join("d")), 0o2775);
    assert_eq!(mode(host.path().join("d/new")), 0o2755);
}

/// Returns the paths of the new files in a directory that wait for their places.
fn waiting(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("listed");
    let entries = entries.map(|entry| entry.expect("an entry"));
    let waiting = entries.filter(|entry| is_unfinished(entry.file_name().as_encoded_bytes()));
    waiting.map(|entry| entry.path()).collect()
}

#[test]
fn only_their_owner_can_read_new_files_before_they_have_their_places() {
    let host = temporary();
    write_tree(&[("x", "!2")], host.path());
    let many: Vec<String> = (0..12).map(|number| format!("many/{number}")).collect();
    for more in [&many[..0], &many[..]] {
        let mut files = vec![("a", "1"), ("d/b", "2"), ("x", "!3")];
        files.extend(more.iter().map(|path| (&path[..], "4")));
        let mut files = tree(&files);
        set_metadata(&mut files, "d", |metadata| metadata.mode = 0o700);
        let (old, new) = (InMemory(tree(&[("x", "!2")])), InMemory(files));
        let directory = HostDirectory::open(host.path()).expect("open");
        let options = ApplyOptions::default();
        let plan = plan((&old, &new), &directory, &options);
        let written = Written::new((&old, &new), &directory, &options, &plan).expect("written");
        // No directory exists yet, so all are in the same one.
        let modes: Vec<u32> = waiting(host.path()).iter().map(mode).collect();
        assert_eq!(modes, vec![0o600; 3 + more.len()]);
        run_all(std::iter::once(Ok(written))).expect("finished");
        let mode = |name: &str| mode(host.path().join(name));
        assert_eq!((mode("a"), mode("d/b"), mode("x")), (0o644, 0o644, 0o755));
        assert!(waiting(host.path()).is_empty());
        for name in ["a", "d/b"] {
            fs::remove_file(host.path().join(name)).expect("removed");
        }
        fs::remove_dir(host.path().join("d")).expect("removed");
        write_tree(&[("x", "!2")], host.path());
    }
}

#[test]
fn a_file_in_the_place_of_one_that_waits_is_left_as_it_is() {
    let host = temporary();
    write_tree(&[("mine", "1")], host.path());
    let path = host.path().join("mine");
    set_mode(&path, 0o600);
    let (old, new) = (InMemory(tree(&[])), InMemory(tree(&[("a", "!2")])));
    let directory = HostDirectory::open(host.path()).expect("open");
    let options = ApplyOptions::default();
    let plan = plan((&old, &new), &directory, &options);
    let written = Written::new((&old, &new), &directory, &options, &plan).expect("written");
    for name in waiting(host.path()) {
        fs::remove_file(&name).expect("removed");
        fs::hard_link(&path, &name).expect("linked");
    }
    let failed = written.finish().expect_err("another file");
    assert!(matches!(failed, ApplyError::Changed { .. }), "{failed:?}");
    assert_eq!(mode(&path), 0o600);
    assert!(!host.path().join("a").exists());
}

#[test]
fn a_directory_that_nobody_can_open_is_made() {
    let host = temporary();
    let mut new = tree(&[("d/a", "1")]);
    set_metadata(&mut new, "d", |metadata| metadata.mode = 0);
    apply(&tree(&[]), &new, host.path(), "").expect("applied");
    assert_eq!(mode(host.path().join("d")), 0);
    set_mode(host.path().join("d"), 0o755);
}

#[test]
fn a_name_that_got_a_file_of_its_own_keeps_its_attributes() {
    let host = temporary();
    let mut old = tree(&[("a", "1")]);
    let file = old.find(b"a").expect("there");
    old.link(old.root(), Name::new(b"b").expect("a name"), file);
    let mut new = tree(&[("a", "1"), ("b", "1")]);
    let own = new.find(b"a").expect("there");
    new.inode_mut(own).metadata.mode = 0o600;
    write_tree(&[("a", "1")], host.path());
    fs::hard_link(host.path().join("a"), host.path().join("b")).expect("linked");
    assert_eq!(
        apply(&old, &new, host.path(), "").expect("no conflict"),
        ["C a"]
    );
    let mode = |name: &str| fs::metadata(host.path().join(name)).expect("there").mode() & 0o777;
    assert_eq!((mode("a"), mode("b")), (0o600, 0o644));
}
