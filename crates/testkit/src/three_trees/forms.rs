//! Trees as a sandbox has them, as a directory, and as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use fstree::{Metadata, Tree, TreeBuilder};

use super::editor::{Entry, Files};

/// The files of a tree by path: the kind, the permissions and the content of each as text.
pub(super) type Forms = BTreeMap<String, String>;

/// The files below a directory of the host: the kind, the permissions and the content of each, and its inode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFiles(BTreeMap<String, (String, u64)>);

/// Returns a file as text, with other permissions if some are given.
pub(super) fn form(entry: &Entry, other_mode: Option<u16>) -> String {
    match entry {
        Entry::Directory { mode } => format!("directory {:o}", other_mode.unwrap_or(*mode)),
        Entry::File { text, mode, .. } => {
            format!("file {:o} {text:?}", other_mode.unwrap_or(*mode))
        }
        Entry::Link { target } => format!("link {target:?}"),
    }
}

pub(super) fn of(files: &Files) -> Forms {
    let files = files.iter();
    files
        .map(|(path, entry)| (path.clone(), form(entry, None)))
        .collect()
}

/// Returns the differences between two trees, one on each line.
pub(super) fn differences(expected: &Forms, found: &Forms) -> Vec<String> {
    let paths: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    let differs = |path: &&String| expected.get(*path) != found.get(*path);
    let line = |path: &String| {
        let (expected, found) = (expected.get(path), found.get(path));
        format!("{path}: {found:?} instead of {expected:?}")
    };
    paths.into_iter().filter(differs).map(line).collect()
}

/// Returns a tree whose files have their content.
pub(super) fn tree(files: &Files) -> Tree<Vec<u8>> {
    let mut builder = TreeBuilder::new(Metadata::directory(0o755));
    let mut firsts: BTreeMap<u32, &String> = BTreeMap::new();
    for (path, entry) in files {
        let added = match entry {
            Entry::Directory { mode } => builder.directory(path, Metadata::directory(*mode)),
            Entry::Link { target } => builder.symlink(path, Metadata::with_mode(0o777), target),
            Entry::File { number, text, mode } => match firsts.get(number) {
                Some(first) => builder.hard_link(path, first),
                None => {
                    firsts.insert(*number, path);
                    let content = text.as_bytes().to_vec();
                    builder.file(path, Metadata::with_mode(*mode), content)
                }
            },
        };
        added.expect("its directory was made");
    }
    builder.finish()
}

/// Makes a tree in an empty directory.
pub(super) fn write(files: &Files, directory: &Path) {
    let set_mode = |path: &Path, mode: u16| {
        fs::set_permissions(path, Permissions::from_mode(mode.into())).expect("set");
    };
    let mut firsts: BTreeMap<u32, &String> = BTreeMap::new();
    for (name, entry) in files {
        let path = directory.join(name);
        match entry {
            Entry::Directory { mode } => {
                fs::create_dir(&path).expect("made");
                set_mode(&path, *mode);
            }
            Entry::Link { target } => symlink(target, &path).expect("made"),
            Entry::File { number, text, mode } => match firsts.get(number) {
                Some(first) => fs::hard_link(directory.join(first), &path).expect("linked"),
                None => {
                    firsts.insert(*number, name);
                    fs::write(&path, text).expect("written");
                    set_mode(&path, *mode);
                }
            },
        }
    }
}

impl HostFiles {
    /// Reads the files below a directory.
    ///
    /// # Panics
    /// If one cannot be read, or a name or a content is not UTF-8.
    pub fn read(directory: &Path) -> Self {
        let mut found = BTreeMap::new();
        let mut open = vec![directory.to_owned()];
        while let Some(path) = open.pop() {
            for entry in fs::read_dir(path).expect("listed") {
                let path = entry.expect("an entry").path();
                let metadata = fs::symlink_metadata(&path).expect("there");
                let mode = metadata.mode() & 0o7777;
                let name = path.strip_prefix(directory).expect("below");
                let name = name.to_str().expect("UTF-8").to_owned();
                let form = if metadata.is_dir() {
                    open.push(path);
                    format!("directory {mode:o}")
                } else if metadata.is_symlink() {
                    let target = fs::read_link(&path).expect("a link");
                    format!("link {:?}", target.to_str().expect("UTF-8"))
                } else {
                    let text = fs::read_to_string(&path).expect("read");
                    format!("file {mode:o} {text:?}")
                };
                found.insert(name, (form, metadata.ino()));
            }
        }
        Self(found)
    }

    /// Returns the paths whose files are as before, and are other ones.
    pub fn rewritten<'a>(&'a self, after: &Self) -> Vec<&'a str> {
        let is_rewritten = |(path, (form, inode)): &(&String, &(String, u64))| {
            let after = after.0.get(*path);
            after.is_some_and(|(found, kept)| found == form && kept != inode)
        };
        let rewritten = self.0.iter().filter(is_rewritten);
        rewritten.map(|(path, _)| path.as_str()).collect()
    }

    /// Returns the files as text.
    pub(super) fn forms(&self) -> Forms {
        let files = self.0.iter();
        files
            .map(|(path, (form, _))| (path.clone(), form.clone()))
            .collect()
    }
}
