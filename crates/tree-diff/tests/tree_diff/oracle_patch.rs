//! Patches, applied by `git apply` and by `patch`.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use fstree::{FileKind, Metadata, Tree, TreeBuilder};
use tree_diff::{InMemory, Patcher, Scope, Unrelated, compare};

use crate::trees::{Files, find, lines, tree};

fn patch_of(old: &Files, new: &Files) -> Vec<u8> {
    let mut patcher = Patcher::default();
    let (old, new) = (InMemory(old.clone()), InMemory(new.clone()));
    let changes = compare(&old, &new, &Unrelated, &Scope::everything()).expect("compared");
    let texts = changes
        .iter()
        .map(|change| patcher.patch(&old, &new, change));
    let texts = texts.map(|made| made.expect("read").text);
    texts.collect::<Vec<_>>().concat()
}

fn write(tree: &Files, directory: &Path) {
    for entry in tree.walk().skip(1) {
        let path = directory.join(std::ffi::OsStr::from_bytes(&entry.path));
        match &entry.inode.kind {
            FileKind::Directory(_) => fs::create_dir(&path).expect("made"),
            FileKind::Symlink(target) => {
                symlink(std::ffi::OsStr::from_bytes(target), &path).expect("made");
            }
            FileKind::Regular(bytes) => {
                fs::write(&path, bytes).expect("written");
                let mode = fs::Permissions::from_mode(entry.inode.metadata.mode.into());
                fs::set_permissions(&path, mode).expect("set");
            }
            other => panic!("not expected: {other:?}"),
        }
    }
}

/// Returns the files below a directory. Directories without files are left out, as git has none.
fn read(directory: &Path) -> Files {
    let mut builder = TreeBuilder::new(Metadata::directory(0o755));
    let mut open = vec![directory.to_owned()];
    while let Some(inner) = open.pop() {
        for entry in fs::read_dir(&inner).expect("listed") {
            let path = entry.expect("an entry").path();
            let name = path
                .strip_prefix(directory)
                .expect("below")
                .as_os_str()
                .as_bytes();
            let here = fs::symlink_metadata(&path).expect("there");
            let mode = u16::try_from(here.permissions().mode() & 0o777).expect("16 bits");
            let metadata = Metadata::with_mode(mode);
            let added = if here.is_dir() {
                open.push(path);
                continue;
            } else if here.is_symlink() {
                let target = fs::read_link(&path).expect("read");
                builder.symlink(
                    name,
                    Metadata::with_mode(0o644),
                    target.as_os_str().as_bytes(),
                )
            } else {
                builder.file(name, metadata, fs::read(&path).expect("read"))
            };
            added.expect("a path");
        }
    }
    builder.finish()
}

fn applied(old: &Files, text: &[u8], program: &str, words: &[&str]) -> Files {
    let directory = tempfile::tempdir().expect("a directory");
    write(old, directory.path());
    let mut child = Command::new(program)
        .args(words)
        .current_dir(directory.path())
        // No repository above this directory is to be found.
        .env(
            "GIT_CEILING_DIRECTORIES",
            directory.path().parent().expect("a parent"),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is installed");
    let mut input = child.stdin.take().expect("piped");
    std::io::Write::write_all(&mut input, text).expect("written");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let cried = [output.stdout, output.stderr].concat();
    let (cried, text) = (
        String::from_utf8_lossy(&cried),
        String::from_utf8_lossy(text),
    );
    assert!(output.status.success(), "{program}: {cried}\n{text}");
    read(directory.path())
}

const GIT: (&str, &[&str]) = ("git", &["apply", "-p1"]);
const PATCH: (&str, &[&str]) = ("patch", &["-p1", "--no-backup-if-mismatch", "--fuzz=0"]);

fn check(old: &Files, new: &Files) {
    check_with(old, new, &[GIT, PATCH]);
}

fn check_with(old: &Files, new: &Files, programs: &[(&str, &[&str])]) {
    let text = patch_of(old, new);
    let shown = String::from_utf8_lossy(&text).into_owned();
    // Directories without files are no part of a patch.
    let expected = {
        let directory = tempfile::tempdir().expect("a directory");
        write(new, directory.path());
        read(directory.path())
    };
    for &(program, words) in programs {
        let found = applied(old, &text, program, words);
        let found = lines(&expected, &found);
        assert!(found.is_empty(), "{program}: {found:?}\n{shown}");
    }
}

fn numbered(changed: &[usize]) -> String {
    let line = |number: usize| {
        let word = if changed.contains(&number) {
            "changed"
        } else {
            "line"
        };
        format!("{word} {number}\n")
    };
    (0..60).map(line).collect()
}

#[test]
fn oracle_texts_are_changed() {
    let old = tree(&[
        ("etc/one", &numbered(&[])),
        ("etc/near", &numbered(&[])),
        ("etc/far", &numbered(&[])),
        ("first", "a\nb\nc\n"),
        ("end", "a\nb"),
        ("cut", "a\nb\n"),
        ("emptied", "a\n"),
        ("filled", ""),
        ("crlf", "a\r\nb\r\n"),
    ]);
    let new = tree(&[
        ("etc/one", &numbered(&[0, 59])),
        ("etc/near", &numbered(&[10, 17])),
        ("etc/far", &numbered(&[10, 18, 40])),
        ("first", "0\na\nb\nc\nd\n"),
        ("end", "a\nb\n"),
        ("cut", "a\nb"),
        ("emptied", ""),
        ("filled", "x"),
        ("crlf", "a\r\nc\r\n"),
    ]);
    check(&old, &new);
    check(&new, &old);
}

#[test]
fn oracle_files_come_and_go() {
    let old = tree(&[
        ("gone/deep/f", "1\n2\n"),
        ("gone/empty", ""),
        ("kept", "k\n"),
    ]);
    let new = tree(&[
        ("kept", "k\n"),
        ("new/deep/f", "no newline"),
        ("new/empty", ""),
    ]);
    check(&old, &new);
    check(&new, &old);
}

#[test]
fn oracle_modes_and_types_are_changed() {
    let old = tree(&[
        ("tool", "#!\n"),
        ("both", "1\n"),
        ("link", "->a"),
        ("turned", "1\n2\n"),
    ]);
    let mut new = tree(&[
        ("tool", "#!\n"),
        ("both", "2\n"),
        ("link", "->b"),
        ("turned", "->x"),
    ]);
    for path in ["tool", "both"] {
        let id = find(&new, path);
        new.inode_mut(id).metadata.mode = 0o755;
    }
    check(&old, &new);
    check(&new, &old);
}

#[test]
fn oracle_a_directory_becomes_a_file_and_back() {
    let old = tree(&[("d/a", "1\n"), ("d/b/c", "2\n"), ("f", "3\n")]);
    let new = tree(&[("d", "1\n"), ("f/g", "3\n")]);
    // `patch` deletes files last, also of git's own patches, so it finds no room for the new ones.
    check_with(&old, &new, &[GIT]);
    check_with(&new, &old, &[GIT]);
}

#[test]
fn oracle_names_of_any_bytes() {
    let names: [&[u8]; 6] = [
        b"a b",
        b"tab\there",
        "h\u{e9}".as_bytes(),
        b"\xff\xfe",
        b"quote\"back\\slash",
        b" lead",
    ];
    let files = |content: &str| {
        let mut builder = TreeBuilder::new(Metadata::directory(0o755));
        for name in names {
            let path = [b"dir x/", name].concat();
            let file = builder.file(path, Metadata::with_mode(0o644), content.into());
            file.expect("a path");
        }
        builder.finish()
    };
    let none: Files = Tree::new(Metadata::directory(0o755));
    check(&files("1\n"), &files("2\n"));
    check(&none, &files("1\n"));
    check(&files("1\n"), &none);
}

#[test]
fn oracle_binary_files_are_named_and_skipped() {
    let old = tree(&[("binary", "\0a"), ("gone", "\0"), ("text", "1\n")]);
    let new = tree(&[("binary", "\0b"), ("new", "\0"), ("text", "2\n")]);
    let text = patch_of(&old, &new);
    let text_only = tree(&[("binary", "\0a"), ("gone", "\0"), ("text", "2\n")]);
    let shown = String::from_utf8_lossy(&text);
    for line in [
        "Binary files a/binary and b/binary differ\n",
        "Binary files a/gone and /dev/null differ\n",
        "Binary files /dev/null and b/new differ\n",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    for (program, words) in [GIT, PATCH] {
        let found = applied(&old, &text, program, words);
        assert!(lines(&text_only, &found).is_empty(), "{program}\n{shown}");
    }
}

#[test]
fn oracle_git_prints_the_same_hunks() {
    let old = tree(&[("f", &numbered(&[]))]);
    let new = tree(&[("f", &numbered(&[3, 9, 30, 31, 58]))]);
    let directory = tempfile::tempdir().expect("a directory");
    for (name, tree) in [("a", &old), ("b", &new)] {
        fs::create_dir(directory.path().join(name)).expect("made");
        write(tree, &directory.path().join(name));
    }
    let output = Command::new("git")
        .args([
            "diff",
            "--no-index",
            "--no-prefix",
            "--no-renames",
            "a",
            "b",
        ])
        .current_dir(directory.path())
        .output()
        .expect("git runs");
    let hunks = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text).into_owned();
        let lines = text.lines().skip_while(|line| !line.starts_with("@@"));
        lines
            // Git adds the line of the enclosing function behind the second `@@`.
            .map(|line| {
                match line
                    .strip_prefix("@@")
                    .and_then(|rest| rest.split_once("@@"))
                {
                    Some((span, _)) => format!("@@{span}@@"),
                    None => line.to_owned(),
                }
            })
            .collect()
    };
    assert_eq!(hunks(&patch_of(&old, &new)), hunks(&output.stdout));
}
