//! The files of a release as a value, from which every form of it is made.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

/// The mode of a program.
pub(crate) const PROGRAM: u32 = 0o755;
/// The mode of a file that is only read.
pub(crate) const DATA: u32 = 0o644;

/// A file of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// The permission bits.
    pub(crate) mode: u32,
    /// The content.
    pub(crate) bytes: Vec<u8>,
}

/// Files by their paths, which are relative and have slashes. The order of the paths is the order
/// in every form of the release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    files: BTreeMap<String, File>,
}

impl Tree {
    /// Adds a file, or replaces the one at its path.
    pub(crate) fn insert(&mut self, path: impl Into<String>, mode: u32, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        self.files.insert(path.into(), File { mode, bytes });
    }

    /// Returns the files in the order of their paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// Returns the directories that hold files, each behind the one that it is in.
    pub(crate) fn directories(&self) -> Vec<&str> {
        let paths = self.files.keys();
        let mut directories: Vec<&str> = paths
            .flat_map(|path| path.match_indices('/').map(|(end, _)| &path[..end]))
            .collect();
        directories.sort_unstable();
        directories.dedup();
        directories
    }

    /// Returns the same files below a directory.
    pub(crate) fn below(&self, directory: &str) -> Self {
        self.renamed(|path| format!("{directory}/{path}"))
    }

    /// Returns the same files at other paths.
    pub(crate) fn renamed(&self, rename: impl Fn(&str) -> String) -> Self {
        let files = self.files.iter();
        let files = files.map(|(path, file)| (rename(path), file.clone()));
        Self {
            files: files.collect(),
        }
    }

    /// Returns a line for each file as `sha256sum` prints it.
    pub(crate) fn sha256_sums(&self) -> String {
        let line = |(path, file): (&String, &File)| {
            let digest = hex::encode(Sha256::digest(&file.bytes));
            format!("{digest}  {path}\n")
        };
        self.files.iter().map(line).collect()
    }

    /// Returns the size of all files together, in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        self.files.values().map(|file| file.bytes.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_come_before_what_is_in_them() {
        let mut tree = Tree::default();
        tree.insert("lib/msb/vmlinux", DATA, "k");
        tree.insert("bin/msb", PROGRAM, "m");
        assert_eq!(tree.directories(), ["bin", "lib", "lib/msb"]);
        let moved = tree.below("usr");
        assert_eq!(
            moved.directories(),
            ["usr", "usr/bin", "usr/lib", "usr/lib/msb"]
        );
    }

    #[test]
    fn sums_are_those_of_sha256sum() {
        let mut tree = Tree::default();
        tree.insert("a", DATA, "");
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(tree.sha256_sums(), format!("{empty}  a\n"));
    }
}
