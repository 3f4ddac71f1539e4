//! The end of an apply: what the sandbox changed is put in the place of what it began with, what the host has already is
//! done, and anything else is a conflict, with which nothing is done.

use std::collections::{BTreeMap, BTreeSet};

use super::editor::{Entry, Files, above, is_below, remove};
use super::forms::{HostFiles, differences, form, of};

/// A change of a sandbox.
#[derive(Debug, Clone)]
pub struct SandboxChange {
    /// The path, without a leading slash.
    pub path: String,
    /// True for the removal of a file with its directory.
    pub is_implied: bool,
    /// True if the file is another name of one that the sandbox has.
    pub is_linked: bool,
}

/// The end of an apply.
#[derive(Debug)]
pub enum ApplyEnd {
    /// The changes are applied.
    Applied(AppliedFiles),
    /// Nothing is done. These paths are in the way, without those below others.
    Conflicts(BTreeSet<String>),
}

/// The files of the host afterwards.
#[derive(Debug)]
pub struct AppliedFiles {
    files: Files,
    /// The permissions that a file may have instead: those of the file of which it is another name.
    other_modes: BTreeMap<String, u16>,
}

impl ApplyEnd {
    /// Returns the files of the host; `None` if there are conflicts.
    pub(super) fn files(&self) -> Option<&Files> {
        match self {
            Self::Applied(applied) => Some(&applied.files),
            Self::Conflicts(_) => None,
        }
    }
}

impl AppliedFiles {
    /// Returns the differences between these files and those that the host has, one on each line.
    pub fn differences(&self, host: &HostFiles) -> Vec<String> {
        let (mut expected, found) = (of(&self.files), host.forms());
        for (path, mode) in &self.other_modes {
            let other = self.files.get(path).map(|entry| form(entry, Some(*mode)));
            if other.is_some() && other.as_ref() == found.get(path) {
                expected.extend(other.map(|other| (path.clone(), other)));
            }
        }
        differences(&expected, &found)
    }
}

/// The attributes that a file of the host gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Those that it has.
    Host,
    New,
    Conflict,
}

impl Entry {
    /// Returns the permissions. Those of a symlink mean nothing.
    fn mode(&self) -> u16 {
        match self {
            Self::Directory { mode } | Self::File { mode, .. } => *mode,
            Self::Link { .. } => 0o777,
        }
    }

    fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }

    /// Returns true if two files are of one kind, and have the same content.
    fn has_content_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Directory { .. }, Self::Directory { .. }) => true,
            (Self::File { text, .. }, Self::File { text: other, .. }) => text == other,
            (Self::Link { target }, Self::Link { target: other }) => target == other,
            _ => false,
        }
    }

    fn with_mode(&self, mode: u16) -> Self {
        let mut changed = self.clone();
        if let Self::File { mode: own, .. } | Self::Directory { mode: own } = &mut changed {
            *own = mode;
        }
        changed
    }
}

/// Returns the end of an apply of all changes to the host's files, of which none is in a repository.
pub(super) fn end(
    (old, new, host): (&Files, &Files, &Files),
    changes: &[SandboxChange],
) -> ApplyEnd {
    for path in old.keys().chain(new.keys()) {
        let form_in = |files: &Files| files.get(path).map(|entry| form(entry, None));
        let is_listed = changes.iter().any(|change| change.path == *path);
        assert!(
            is_listed || form_in(old) == form_in(new),
            "{path} is no change"
        );
    }
    let mut model = Model {
        old,
        new,
        host,
        end: host.clone(),
        other_modes: BTreeMap::new(),
        new_directories: Vec::new(),
        conflicts: BTreeSet::new(),
    };
    for change in changes {
        let mut conflicts = model.conflicts.iter();
        if !conflicts.any(|above| is_below(&change.path, above)) {
            model.add(change);
        }
    }
    if model.conflicts.is_empty() {
        ApplyEnd::Applied(AppliedFiles {
            files: model.end,
            other_modes: model.other_modes,
        })
    } else {
        ApplyEnd::Conflicts(model.conflicts)
    }
}

struct Model<'a> {
    old: &'a Files,
    new: &'a Files,
    host: &'a Files,
    end: Files,
    other_modes: BTreeMap<String, u16>,
    /// The paths of directories that take the place of files of the host.
    new_directories: Vec<String>,
    conflicts: BTreeSet<String>,
}

impl<'a> Model<'a> {
    fn conflict(&mut self, change: &SandboxChange) {
        self.conflicts.insert(change.path.clone());
    }

    fn add(&mut self, change: &SandboxChange) {
        let path = &change.path;
        let (old, new) = (self.old.get(path), self.new.get(path));
        let mut replaced = self.new_directories.iter();
        let is_in_new = replaced.any(|above| is_below(path, above));
        let host = self.host.get(path).filter(|_| !is_in_new);
        let is_blocked = !is_in_new
            && above(path).any(|above| {
                let entry = self.host.get(above);
                entry.is_some_and(|entry| !entry.is_directory())
            });
        match (new, host) {
            // Without its directory, a file is gone already.
            (None, _) if is_blocked && change.is_implied => {}
            _ if is_blocked => self.conflict(change),
            (None, None) => {}
            (None, Some(host)) => self.remove(change, old, host),
            (Some(new), None) => self.make(path, new.clone()),
            (Some(new), Some(host)) if new.is_directory() => {
                self.change_directory(change, (old, new, host));
            }
            (Some(new), Some(host)) => self.change_file(change, (old, new, host)),
        }
    }

    /// Removes a file that is as the sandbox began with it.
    fn remove(&mut self, change: &SandboxChange, old: Option<&Entry>, host: &Entry) {
        let Some(old) = old else {
            return;
        };
        let is_conflict = if old.is_directory() && host.is_directory() {
            self.has_other_names(&change.path)
        } else {
            !is_same(old, host)
        };
        if is_conflict {
            self.conflict(change);
        } else {
            self.end.remove(&change.path);
        }
    }

    fn change_directory(
        &mut self,
        change: &SandboxChange,
        (old, new, host): (Option<&'a Entry>, &'a Entry, &'a Entry),
    ) {
        let path = &change.path;
        if !host.is_directory() {
            if old.is_some_and(|old| is_same(old, host)) {
                self.end.insert(path.clone(), new.clone());
                self.new_directories.push(path.clone());
            } else {
                self.conflict(change);
            }
            return;
        }
        // A directory that the sandbox added is the host's where it has one.
        let Some(old) = old.filter(|old| old.is_directory()) else {
            return;
        };
        match mode(old.mode(), new.mode(), host.mode()) {
            Mode::Host => {}
            Mode::New => {
                self.end.insert(path.clone(), new.clone());
            }
            Mode::Conflict => self.conflict(change),
        }
    }

    fn change_file(
        &mut self,
        change: &SandboxChange,
        (old, new, host): (Option<&'a Entry>, &'a Entry, &'a Entry),
    ) {
        let path = &change.path;
        if host.is_directory() {
            // A directory that became a file: the removals of its files follow.
            if old.is_some_and(Entry::is_directory) && !self.has_other_names(path) {
                remove(&mut self.end, path);
                self.end.insert(path.clone(), new.clone());
            } else {
                self.conflict(change);
            }
            return;
        }
        let has_new_content = new.has_content_of(host);
        let has_old_content = old.is_some_and(|old| old.has_content_of(host));
        if !has_new_content && !has_old_content {
            self.conflict(change);
            return;
        }
        let wanted = match (new, old) {
            (Entry::Link { .. }, _) if has_new_content => Mode::Host,
            (Entry::Link { .. }, _) => Mode::New,
            (_, Some(old)) => mode(old.mode(), new.mode(), host.mode()),
            (_, None) if new.mode() == host.mode() => Mode::Host,
            (_, None) => Mode::Conflict,
        };
        match (wanted, has_new_content) {
            (Mode::Conflict, _) => self.conflict(change),
            (Mode::Host, true) => {}
            (Mode::New, true) => {
                let end = host.with_mode(new.mode());
                self.end.insert(path.clone(), end);
            }
            (Mode::New, false) => {
                self.end.insert(path.clone(), new.clone());
            }
            (Mode::Host, false) => {
                let end = new.with_mode(host.mode());
                self.end.insert(path.clone(), end);
                if change.is_linked {
                    self.other_modes.insert(path.clone(), new.mode());
                }
            }
        }
    }

    /// Makes a file that the host does not have, with the directories above it that are missing.
    fn make(&mut self, path: &str, entry: Entry) {
        for above in above(path) {
            if !self.end.contains_key(above) {
                let directory = self.new.get(above).expect("it has the file");
                self.end.insert(above.to_owned(), directory.clone());
            }
        }
        self.end.insert(path.to_owned(), entry);
    }

    /// Returns true if a directory of the host has a name that the sandbox did not begin with.
    fn has_other_names(&self, path: &str) -> bool {
        let mut names = self.host.keys().filter(|name| {
            let inner = name
                .strip_prefix(path)
                .and_then(|name| name.strip_prefix('/'));
            inner.is_some_and(|inner| !inner.contains('/'))
        });
        names.any(|name| !self.old.contains_key(name))
    }
}

/// Returns true if the host's file is as the sandbox began with it.
fn is_same(old: &Entry, host: &Entry) -> bool {
    let is_link = matches!(host, Entry::Link { .. });
    old.has_content_of(host) && (is_link || old.mode() == host.mode())
}

/// Decides about permissions: what the sandbox did not change stays as the host has it.
fn mode(old: u16, new: u16, host: u16) -> Mode {
    if old == new || host == new {
        Mode::Host
    } else if host == old {
        Mode::New
    } else {
        Mode::Conflict
    }
}
