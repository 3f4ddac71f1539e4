//! Archives that other programs write of random files.

use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::command::quiet;
use test_support::describe;
use testkit::RandomChanges;

use crate::engines::Program;

/// Number of directories of random files, and of the changes that make one.
const DIRECTORIES: u64 = 4;
const CHANGES: u32 = 80;

/// The options of GNU tar for each archive.
const GNU_TAR: &[&[&str]] = &[
    &["--format=v7"],
    &["--format=oldgnu"],
    &["--format=ustar"],
    &["--format=gnu"],
    &["--format=posix"],
    &["--format=oldgnu", "--sparse"],
    &["--format=gnu", "--sparse"],
    &["--format=posix", "--sparse", "--sparse-version=0.0"],
    &["--format=posix", "--sparse", "--sparse-version=0.1"],
    &["--format=posix", "--sparse", "--sparse-version=1.0"],
    &["--format=posix", "--xattrs", "--xattrs-include=*"],
    &["--format=posix", "--pax-option=comment=of-all,gid:=7"],
    &["--format=gnu", "--blocking-factor=1"],
    &["--format=gnu", "--label=a label"],
    &["--format=gnu", "--hard-dereference"],
    &[
        "--format=gnu",
        "--sort=name",
        "--numeric-owner",
        "--owner=0",
        "--mtime=@0",
    ],
];
/// The formats of Python's `tarfile`.
const PYTHON: [&str; 3] = ["USTAR", "GNU", "PAX"];
/// Writes the working directory, without the files that a format cannot hold.
const PYTHON_SCRIPT: &str = include_str!("tarfile.py");
/// The writers of `ci/engines` that write all of a directory, and those that write what changed.
const WHOLE: [&str; 6] = [
    "containerd",
    "moby-tar",
    "umoci",
    "go-ustar",
    "go-pax",
    "go-gnu",
];
const DELTA: [&str; 2] = ["containerd", "moby"];

/// Returns the archives, each with a name that begins with its program's.
pub(super) fn archives(engines: &Program, work: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let empty = work.join("empty");
    fs::create_dir_all(&empty)?;
    let mut archives = Vec::new();
    let mut older = empty.clone();
    for number in 0..DIRECTORIES {
        let directory = files(&work.join(number.to_string()), number)?;
        let mut add = |program: &str, form: &str, tar: Vec<u8>| {
            archives.push((format!("{program}/{form}/{number}"), tar));
        };
        for options in GNU_TAR {
            add("gnu-tar", &options.join("_"), gnu_tar(&directory, options)?);
        }
        for format in PYTHON {
            let mut python = Command::new("python3");
            python
                .args(["-c", PYTHON_SCRIPT, format])
                .current_dir(&directory);
            add("python", format, quiet(&mut python)?.stdout);
        }
        add("git-archive", "tar", git_archive(&directory)?);
        for writer in WHOLE {
            add(writer, "whole", engines.pack(writer, &empty, &directory)?);
        }
        for writer in DELTA {
            add(writer, "delta", engines.pack(writer, &older, &directory)?);
        }
        older = directory;
    }
    Ok(archives)
}

/// Makes a directory of random files. Sockets are left out: most programs refuse them.
fn files(directory: &Path, seed: u64) -> Result<PathBuf> {
    fs::create_dir(directory)?;
    let mut changes = RandomChanges::new(seed);
    for _ in 0..CHANGES {
        changes.make(directory);
    }
    let mut open = vec![directory.to_owned()];
    while let Some(parent) = open.pop() {
        for entry in fs::read_dir(&parent)? {
            let entry = entry?;
            let file_type = entry.file_type()?;
            if file_type.is_dir() {
                open.push(entry.path());
            } else if file_type.is_socket() {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(directory.to_owned())
}

fn gnu_tar(directory: &Path, options: &[&str]) -> Result<Vec<u8>> {
    let mut tar = Command::new("tar");
    tar.args(options)
        .args(["-cf", "-", "-C"])
        .arg(directory)
        .arg(".");
    let output = tar.output().context("tar is installed")?;
    // It ends with 2 if a format cannot hold a name, and leaves the file out.
    let is_written = matches!(output.status.code(), Some(0..=2)) && !output.stdout.is_empty();
    ensure!(is_written, "tar {options:?}: {}", describe(&output));
    Ok(output.stdout)
}

/// Returns what `git archive` writes of a commit of the files.
fn git_archive(directory: &Path) -> Result<Vec<u8>> {
    let repository = directory.with_extension("git");
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.arg("--git-dir")
            .arg(&repository)
            .arg("--work-tree")
            .arg(directory);
        git.args(["-c", "user.name=msb", "-c", "user.email=msb@example.org"])
            .args(words);
        quiet(&mut git)
    };
    git(&["init", "-q"])?;
    git(&["add", "-A"])?;
    git(&["commit", "-q", "--allow-empty", "-m", "files"])?;
    Ok(git(&["archive", "--format=tar", "HEAD"])?.stdout)
}
