mod attributes;
mod chosen;
mod editing;
mod failing;
mod folding;
mod gated;
mod killed;
mod reviewed;
mod three_trees;

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use fstree::{FileKind, Inode, Metadata, Name, Tree, TreeBuilder};
use tree_diff::{InMemory, Scope, Side, Unrelated, compare};

use super::host_directory::HostDirectory;
use super::plan::Plan;
use super::write::{self, Written};
use super::{ApplyError, ApplyOptions, ConflictReason, HostSource, check};

type Files = Tree<Vec<u8>>;

/// Returns a tree of files: `path`, and content; `->target` is a symlink, `!content` an executable,
/// and a path that ends with a slash a directory.
fn tree(files: &[(&str, &str)]) -> Files {
    let mut builder = TreeBuilder::new(Metadata::directory(0o755));
    for (path, content) in files {
        let mut metadata = Metadata::with_mode(if content.starts_with('!') {
            0o755
        } else {
            0o644
        });
        metadata.mtime.seconds = 1_000;
        let added = match content.strip_prefix("->") {
            Some(target) => builder.symlink(path, Metadata::with_mode(0o777), target),
            None if path.ends_with('/') => builder.directory(path, Metadata::directory(0o755)),
            None => builder.file(path, metadata, content.as_bytes().to_vec()),
        };
        added.expect("a path");
    }
    builder.finish()
}

/// Writes the files of [`tree`] below a directory.
fn write_tree(files: &[(&str, &str)], directory: &Path) {
    for (path, content) in files {
        let path = directory.join(path);
        if path.to_string_lossy().ends_with('/') {
            fs::create_dir_all(&path).expect("made");
            continue;
        }
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        match content.strip_prefix("->") {
            Some(target) => symlink(target, &path).expect("made"),
            None => {
                fs::write(&path, content).expect("written");
                let mode = if content.starts_with('!') {
                    0o755
                } else {
                    0o644
                };
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
            }
        }
    }
}

/// Returns what is below a directory, in the form of [`tree`].
fn read_tree(directory: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(path).expect("listed") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(directory).expect("below");
            let mut name = name.to_str().expect("UTF-8").to_owned();
            let metadata = fs::symlink_metadata(&path).expect("there");
            let content = if metadata.is_dir() {
                open.push(path);
                name.push('/');
                String::new()
            } else if metadata.is_symlink() {
                format!("->{}", fs::read_link(&path).expect("a link").display())
            } else {
                let content = fs::read_to_string(&path).expect("read");
                let is_executable = metadata.mode() & 0o111 != 0;
                assert_eq!(is_executable, content.starts_with('!'), "{name}");
                content
            };
            found.push((name, content));
        }
    }
    found.sort();
    found
}

/// Puts the changes into a directory. Returns the printed steps.
fn apply(old: &Files, new: &Files, directory: &Path, from: &str) -> Result<Vec<String>, Failed> {
    apply_with(old, new, directory, from, |_| {})
}

/// Conflicts as text, or another error.
#[derive(Debug)]
enum Failed {
    Conflicts(Vec<(String, ConflictReason)>),
    Error(ApplyError),
}

fn apply_with(
    old: &Files,
    new: &Files,
    directory: &Path,
    from: &str,
    between: impl FnOnce(&Path),
) -> Result<Vec<String>, Failed> {
    let (old, new) = (InMemory(old.clone()), InMemory(new.clone()));
    let changes = compare(&old, &new, &Unrelated, &Scope::everything()).expect("compared");
    let options = ApplyOptions {
        from: from.into(),
        ..ApplyOptions::default()
    };
    let host = HostDirectory::open(directory).map_err(Failed::Error)?;
    let plan = Plan::new((&old, &new), &changes, &host, &options).map_err(Failed::Error)?;
    if !plan.conflicts.is_empty() {
        let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        let conflicts = plan.conflicts.iter();
        let conflicts = conflicts.map(|one| (text(&one.path), one.reason.clone()));
        return Err(Failed::Conflicts(conflicts.collect()));
    }
    between(directory);
    run((&old, &new), &host, &options, &plan).map_err(Failed::Error)?;
    let shown = plan.steps.iter().filter(|step| !step.is_implied);
    let shown = shown.map(|step| {
        let path = String::from_utf8_lossy(&step.path);
        format!("{} {path}", step.action.letter())
    });
    Ok(shown.collect())
}

/// Does the steps of a plan.
fn run<S: HostSource>(
    sides: (&S, &S),
    host: &HostDirectory,
    options: &ApplyOptions,
    plan: &Plan,
) -> Result<(), ApplyError> {
    check::check(host, plan)?;
    let written = Written::new(sides, host, options, plan);
    write::run_all(std::iter::once(written)).map_err(|(_, error)| error)
}

/// Returns the plan of the changes between two trees.
fn plan<S: Side<Content = Vec<u8>, Error = io::Error>>(
    (old, new): (&S, &S),
    host: &HostDirectory,
    options: &ApplyOptions,
) -> Plan {
    let changes = compare(old, new, &Unrelated, &Scope::everything()).expect("compared");
    let plan = Plan::new((old, new), &changes, host, options).expect("planned");
    assert!(plan.conflicts.is_empty(), "{:?}", plan.conflicts);
    plan
}

/// Changes one inode of a tree.
fn set_metadata(tree: &mut Files, path: &str, change: impl FnOnce(&mut Metadata)) {
    let id = tree.find(path.as_bytes()).expect("there");
    change(&mut tree.inode_mut(id).metadata);
}

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).expect("there").mode() & 0o7777
}

fn set_mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

/// Asserts that the changes between two trees make the second of the first in a directory, and that
/// there is nothing left to do then.
fn assert_applied(old: &[(&str, &str)], new: &[(&str, &str)], steps: &[&str]) {
    let (from, to) = (temporary(), temporary());
    write_tree(old, from.path());
    write_tree(new, to.path());
    let done = apply(&tree(old), &tree(new), from.path(), "").expect("no conflict");
    assert_eq!(done, steps);
    assert_eq!(read_tree(from.path()), read_tree(to.path()));
    let again = apply(&tree(old), &tree(new), from.path(), "").expect("no conflict");
    assert!(again.is_empty(), "{again:?}");
}

#[test]
fn changes_are_put_into_a_directory_once() {
    assert_applied(
        &[
            ("a", "1"),
            ("d/b", "2"),
            ("d/c", "3"),
            ("e/f/g", "4"),
            ("l", "->a"),
            ("x", "!5"),
        ],
        &[
            ("a", "one"),
            ("d/b", "!2"),
            ("l", "->d/b"),
            ("n/m/o", "6"),
            ("n/p/", ""),
            ("d/c", "3"),
            ("x", "!5"),
        ],
        &[
            "C a", "C d/b", "D e", "C l", "A n", "A n/m", "A n/m/o", "A n/p",
        ],
    );
}

#[test]
fn kinds_of_files_replace_each_other() {
    assert_applied(
        &[
            ("a/b/c", "1"),
            ("a/d", "2"),
            ("e", "3"),
            ("f", "->e"),
            ("g/h", "4"),
        ],
        &[("a", "file"), ("e/i/j", "5"), ("f/k", "6"), ("g", "->e")],
        &["C a", "C e", "A e/i", "A e/i/j", "C f", "A f/k", "C g"],
    );
}

#[test]
fn a_directory_of_the_sandbox_stands_for_the_hosts() {
    let host = temporary();
    write_tree(&[("src/a", "1"), ("notes", "mine")], host.path());
    let old = tree(&[("work/src/a", "1"), ("etc/passwd", "root")]);
    let new = tree(&[
        ("work/src/a", "2"),
        ("etc/passwd", "toor"),
        ("work/b", "3"),
        ("workshop", "4"),
    ]);
    let done = apply(&old, &new, host.path(), "/work/").expect("no conflict");
    assert_eq!(done, ["A b", "C src/a"]);
    let found = read_tree(host.path());
    let names: Vec<&str> = found.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, ["b", "notes", "src/", "src/a"]);
    let error = apply(&old, &new, host.path(), "/etc/passwd").expect_err("a file");
    assert!(matches!(error, Failed::Error(ApplyError::NoOrigin { .. })));
}

#[test]
fn missing_directories_and_changed_files_are_made() {
    let host = temporary();
    let old = tree(&[("srv/app/a", "1"), ("etc/motd", "hello")]);
    let new = tree(&[("srv/app/a", "1"), ("srv/app/b", "2"), ("etc/motd", "hi")]);
    let done = apply(&old, &new, host.path(), "").expect("no conflict");
    assert_eq!(
        done,
        ["C etc/motd", "A srv/app/b"].map(|line| line.replace('C', "A"))
    );
    assert_eq!(
        fs::read(host.path().join("srv/app/b")).expect("there"),
        b"2"
    );
}

#[test]
fn all_conflicts_are_named_and_nothing_is_done() {
    let host = temporary();
    let files = [
        ("a", "mine"),
        ("b", "1"),
        ("c/d", "1"),
        ("c/mine", "1"),
        ("e", "->/"),
        ("n", "mine"),
        ("x", "!1"),
    ];
    write_tree(&files, host.path());
    let before = read_tree(host.path());
    let old = tree(&[
        ("a", "1"),
        ("b", "1"),
        ("c/d", "1"),
        ("e/f", "1"),
        ("x", "1"),
    ]);
    let new = tree(&[("a", "2"), ("b", "2"), ("e/f", "2"), ("n", "2")]);
    let Err(Failed::Conflicts(found)) = apply(&old, &new, host.path(), "") else {
        panic!("no conflict");
    };
    let mine = ConflictReason::OtherFiles {
        name: b"mine".to_vec(),
    };
    let link = ConflictReason::NoDirectory {
        path: b"e".to_vec(),
    };
    let expected = [
        ("a", ConflictReason::Differs),
        ("c", mine),
        ("e/f", link),
        ("n", ConflictReason::Exists),
        ("x", ConflictReason::Differs),
    ];
    assert_eq!(
        found,
        expected.map(|(path, reason)| (path.to_owned(), reason))
    );
    assert_eq!(read_tree(host.path()), before);
}

#[test]
fn times_and_hard_links_are_applied() {
    let host = temporary();
    let old = tree(&[("a", "1")]);
    let mut new = tree(&[("a", "1"), ("d/b", "2")]);
    for (directory, label, file) in [("", "c", "d/b"), ("d", "e", "a")] {
        let file = new.find(file.as_bytes()).expect("there");
        let directory = new.find(directory.as_bytes()).expect("there");
        new.link(
            directory,
            Name::new(label.as_bytes()).expect("a name"),
            file,
        );
    }
    write_tree(&[("a", "1")], host.path());
    apply(&old, &new, host.path(), "").expect("applied");
    let inode = |path: &str| fs::metadata(host.path().join(path)).expect("there").ino();
    assert_eq!((inode("c"), inode("a")), (inode("d/b"), inode("d/e")));
    let metadata = fs::metadata(host.path().join("c")).expect("there");
    assert_eq!(metadata.mtime(), 1_000);
}

#[test]
fn devices_are_refused_and_sockets_left_out() {
    let host = temporary();
    let old = tree(&[]);
    let mut new = tree(&[(".msb-apply-0123456789abcdef", "1")]);
    let null = FileKind::CharDevice(fstree::Device { major: 1, minor: 3 });
    for (label, kind) in [("null", null), ("s", FileKind::Socket)] {
        let metadata = Metadata::with_mode(0o600);
        let id = new.add(Inode { metadata, kind });
        new.link(new.root(), Name::new(label.as_bytes()).expect("a name"), id);
    }
    let Err(Failed::Conflicts(found)) = apply(&old, &new, host.path(), "") else {
        panic!("no conflict");
    };
    let reasons: Vec<ConflictReason> = found.into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(
        reasons,
        [ConflictReason::ReservedName, ConflictReason::Device]
    );
}

#[test]
fn a_symlink_is_never_followed() {
    let (host, other) = (temporary(), temporary());
    fs::write(other.path().join("f"), "1").expect("written");
    symlink(other.path(), host.path().join("d")).expect("made");
    let old = tree(&[("d/f", "1"), ("d/g", "1")]);
    let new = tree(&[("d/f", "2"), ("d/h", "1")]);
    let failed = apply(&old, &new, host.path(), "").expect_err("a symlink is in the way");
    assert!(matches!(failed, Failed::Conflicts(found) if found.len() == 3));
    // One that takes the place of a directory after the plan is not followed either.
    fs::remove_file(host.path().join("d")).expect("removed");
    write_tree(&[("d/f", "1")], host.path());
    let swap = |host: &Path| {
        fs::rename(host.join("d"), host.join("moved")).expect("moved");
        symlink(other.path(), host.join("d")).expect("made");
    };
    let failed = apply_with(&old, &new, host.path(), "", swap).expect_err("it changed");
    assert!(matches!(failed, Failed::Error(_)), "{failed:?}");
    let names: Vec<_> = read_tree(other.path());
    assert_eq!(names, [("f".to_owned(), "1".to_owned())]);
}

#[test]
fn a_file_that_changes_meanwhile_is_kept() {
    let host = temporary();
    write_tree(&[("a", "1"), ("b", "1")], host.path());
    let (old, new) = (tree(&[("a", "1"), ("b", "1")]), tree(&[("a", "2")]));
    let edit = |host: &Path| fs::write(host.join("b"), "edited").expect("written");
    let failed = apply_with(&old, &new, host.path(), "", edit).expect_err("it changed");
    assert!(
        matches!(failed, Failed::Error(ApplyError::Changed { .. })),
        "{failed:?}"
    );
    assert_eq!(fs::read(host.path().join("b")).expect("there"), b"edited");
    let added = tree(&[("a", "1"), ("b", "1"), ("c", "1")]);
    let add = |host: &Path| fs::write(host.join("c"), "mine").expect("written");
    fs::write(host.path().join("a"), "1").expect("written");
    let failed = apply_with(&old, &added, host.path(), "", add).expect_err("it was added");
    assert!(
        matches!(failed, Failed::Error(ApplyError::Changed { .. })),
        "{failed:?}"
    );
    assert_eq!(fs::read(host.path().join("c")).expect("there"), b"mine");
}

#[test]
fn what_a_killed_process_left_is_removed() {
    let host = temporary();
    write_tree(
        &[("d/.msb-apply-0123456789abcdef", "half"), ("d/a", "1")],
        host.path(),
    );
    let (old, new) = (tree(&[("d/a", "1")]), tree(&[]));
    assert_eq!(
        apply(&old, &new, host.path(), "").expect("applied"),
        ["D d"]
    );
    assert!(read_tree(host.path()).is_empty());
}

#[test]
fn one_process_at_a_time_writes_to_a_directory() {
    let host = temporary();
    let held = HostDirectory::open(host.path()).expect("open");
    let error = HostDirectory::open(host.path()).expect_err("held");
    assert!(matches!(error, ApplyError::Busy { .. }), "{error}");
    drop(held);
    HostDirectory::open(host.path()).expect("free");
}

#[test]
fn removals_below_the_origin_are_listed() {
    let host = temporary();
    let old = tree(&[("work/a", "1"), ("work/d/b", "1")]);
    let files = [("a", "1"), ("d/b", "1")];
    write_tree(&files, host.path());
    let done = apply(&old, &tree(&[]), host.path(), "/work").expect("no conflict");
    assert_eq!(done, ["D a", "D d"]);
    assert!(read_tree(host.path()).is_empty());
    // A symlink in the place of the directory is a change of the same kind.
    write_tree(&files, host.path());
    let done = apply(&old, &tree(&[("work", "->/")]), host.path(), "/work").expect("no conflict");
    assert_eq!(done, ["D a", "D d"]);
}

#[test]
fn a_directory_that_became_a_socket_is_removed() {
    let host = temporary();
    let old = tree(&[("s/a", "1")]);
    let mut new = tree(&[]);
    let (metadata, kind) = (Metadata::with_mode(0o600), FileKind::Socket);
    let id = new.add(Inode { metadata, kind });
    new.link(new.root(), Name::new(b"s").expect("a name"), id);
    write_tree(&[("s/a", "1")], host.path());
    let done = apply(&old, &new, host.path(), "").expect("no conflict");
    assert_eq!(done, ["D s"]);
    assert!(read_tree(host.path()).is_empty());
}

#[test]
fn a_file_that_became_a_socket_is_removed() {
    let host = temporary();
    let old = tree(&[("f", "1"), ("g", "1")]);
    let mut new = tree(&[("g", "1")]);
    let (metadata, kind) = (Metadata::with_mode(0o600), FileKind::Socket);
    let id = new.add(Inode { metadata, kind });
    new.link(new.root(), Name::new(b"f").expect("a name"), id);
    write_tree(&[("f", "1"), ("g", "1")], host.path());
    let done = apply(&old, &new, host.path(), "").expect("no conflict");
    assert_eq!(done, ["D f"]);
    assert_eq!(read_tree(host.path()), [("g".into(), "1".into())]);
}

#[test]
fn the_directory_itself_is_not_a_pipe() {
    let host = temporary();
    let path = host.path().join("p");
    let (kind, permissions) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, &path, kind, permissions, 0).expect("made");
    let failed = HostDirectory::open(&path).expect_err("a pipe");
    assert!(matches!(failed, ApplyError::Directory { .. }), "{failed}");
}
