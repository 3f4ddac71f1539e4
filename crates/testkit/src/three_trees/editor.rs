//! Random edits of a tree.

use std::collections::BTreeMap;

use crate::random_changes::Random;

const NAMES: [&str; 3] = ["a", "b", "c"];
const TEXTS: [&str; 4] = ["", "0\n", "1\n", "2\n"];
const FILE_MODES: [u16; 3] = [0o644, 0o755, 0o600];
const DIRECTORY_MODES: [u16; 3] = [0o755, 0o700, 0o1777];
const TARGETS: [&str; 3] = ["a", "../b", "/nowhere"];

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    Directory {
        mode: u16,
    },
    /// Names with one number are names of one file.
    File {
        number: u32,
        text: &'static str,
        mode: u16,
    },
    Link {
        target: &'static str,
    },
}

/// A tree by path.
pub(super) type Files = BTreeMap<String, Entry>;

/// A random editor of trees.
#[derive(Debug)]
pub(super) struct Editor {
    random: Random,
    /// The number of the last file.
    number: u32,
}

impl Editor {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            number: 0,
        }
    }

    /// Returns the number of another file.
    pub(super) fn next_number(&mut self) -> u32 {
        self.number += 1;
        self.number
    }

    /// Returns a number below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.random.below(limit)
    }

    /// Returns a tree after so many edits.
    pub(super) fn edited(&mut self, files: &Files, times: usize) -> Files {
        let mut files = files.clone();
        for _ in 0..times {
            self.edit(&mut files);
        }
        files
    }

    /// Returns a tree with one of the files of another one.
    pub(super) fn with_one_of(&mut self, mut files: Files, other: &Files) -> Files {
        let path = self.existing(other);
        if let Some((path, entry)) = path.and_then(|path| other.get_key_value(&path)) {
            let mut entry = entry.clone();
            // It is another file than the one that has this number here.
            if let Entry::File { number, .. } = &mut entry {
                self.number += 1;
                *number = self.number;
            }
            put(&mut files, path, entry);
        }
        files
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.below(all.len())]
    }

    fn path(&mut self) -> String {
        let depth = 1 + self.random.below(3);
        let names: Vec<&str> = (0..depth).map(|_| self.of(&NAMES)).collect();
        names.join("/")
    }

    /// Returns a path that the tree has; `None` if it is empty.
    fn existing(&mut self, files: &Files) -> Option<String> {
        let paths: Vec<&String> = files.keys().collect();
        self.random.of(&paths).cloned()
    }

    fn edit(&mut self, files: &mut Files) {
        let path = self.path();
        match self.random.below(10) {
            0 | 1 => {
                self.number += 1;
                let file = Entry::File {
                    number: self.number,
                    text: self.of(&TEXTS),
                    mode: self.of(&FILE_MODES),
                };
                put(files, &path, file);
            }
            2 => {
                let target = self.of(&TARGETS);
                put(files, &path, Entry::Link { target });
            }
            3 => {
                let mode = self.of(&DIRECTORY_MODES);
                put(files, &path, Entry::Directory { mode });
            }
            4 => remove(files, &path),
            5 | 6 => self.write_to(files),
            7 => self.change_mode(files),
            8 => {
                // Another name of a file.
                let existing = self.existing(files);
                let file = existing.and_then(|existing| files.get(&existing).cloned());
                if let Some(file @ Entry::File { .. }) = file {
                    put(files, &path, file);
                }
            }
            _ => {
                if let Some(from) = self.existing(files) {
                    rename(files, &from, &path);
                }
            }
        }
    }

    /// Writes to a file, which changes it under all its names.
    fn write_to(&mut self, files: &mut Files) {
        let (existing, written) = (self.existing(files), self.of(&TEXTS));
        let file = existing.and_then(|path| files.get(&path).cloned());
        let Some(Entry::File { number: of, .. }) = file else {
            return;
        };
        for entry in files.values_mut() {
            if let Entry::File { number, text, .. } = entry
                && *number == of
            {
                *text = written;
            }
        }
    }

    /// Changes the permissions of a directory, or of a file, which changes them under all its names.
    fn change_mode(&mut self, files: &mut Files) {
        let Some(path) = self.existing(files) else {
            return;
        };
        let (of_file, of_directory) = (self.of(&FILE_MODES), self.of(&DIRECTORY_MODES));
        let of = match files.get_mut(&path) {
            Some(Entry::Directory { mode }) => {
                *mode = of_directory;
                return;
            }
            Some(Entry::File { number, .. }) => *number,
            _ => return,
        };
        for entry in files.values_mut() {
            if let Entry::File { number, mode, .. } = entry
                && *number == of
            {
                *mode = of_file;
            }
        }
    }
}

pub(super) fn is_below(path: &str, above: &str) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the paths of the directories above a path, the highest first.
pub(super) fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(move |(end, _)| &path[..end])
}

/// Removes a file, or a directory with everything in it.
pub(super) fn remove(files: &mut Files, path: &str) {
    files.retain(|other, _| other != path && !is_below(other, path));
}

/// Puts a file at a path. Directories above it are made, also in the place of files.
fn put(files: &mut Files, path: &str, entry: Entry) {
    remove(files, path);
    for above in above(path) {
        if !matches!(files.get(above), Some(Entry::Directory { .. })) {
            let mode = DIRECTORY_MODES[0];
            files.insert(above.to_owned(), Entry::Directory { mode });
        }
    }
    files.insert(path.to_owned(), entry);
}

/// Moves a file, or a directory with everything in it.
fn rename(files: &mut Files, from: &str, to: &str) {
    if from == to || is_below(from, to) || is_below(to, from) {
        return;
    }
    let is_moved = |path: &str| path == from || is_below(path, from);
    let moved: Vec<(String, Entry)> = files
        .iter()
        .filter(|(path, _)| is_moved(path))
        .map(|(path, entry)| (format!("{to}{}", &path[from.len()..]), entry.clone()))
        .collect();
    remove(files, from);
    for (path, entry) in moved {
        put(files, &path, entry);
    }
}
