//! A directory that a sandbox and its host edit at random, and a model of what an apply makes of both.

mod editor;
mod forms;
mod model;
mod restage;
mod sequence;

use std::path::Path;

use editor::{Editor, Files};
use fstree::Tree;

pub use forms::HostFiles;
pub use model::{AppliedFiles, ApplyEnd, SandboxChange};
pub use sequence::StagedSequence;

/// Three trees of one directory: what a sandbox began with, what it made of that, and what the host has now.
///
/// They have files, hard links, symlinks, directories, permissions, moves and files in the place of directories.
///
/// ```
/// use testkit::{HostFiles, ThreeTrees};
///
/// let trees = ThreeTrees::random(7);
/// let host = tempfile::tempdir()?;
/// trees.write_host(host.path());
/// // An apply of the changes between `trees.old()` and `trees.changed()` would be here.
/// let files = HostFiles::read(host.path());
/// assert!(files.rewritten(&files).is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ThreeTrees {
    old: Files,
    new: Files,
    host: Files,
}

impl ThreeTrees {
    /// Returns the trees of a seed.
    pub fn random(seed: u64) -> Self {
        let mut editor = Editor::new(seed);
        let old = editor.edited(&Files::new(), 8);
        let times = 1 + editor.below(5);
        let new = editor.edited(&old, times);
        // The host may have a part of the sandbox's changes, or all of them.
        let times = editor.below(4);
        let host = match editor.below(4) {
            0 => editor.edited(&new, times),
            1 => {
                let host = editor.edited(&old, times);
                editor.with_one_of(host, &new)
            }
            _ => editor.edited(&old, times),
        };
        Self { old, new, host }
    }

    /// Returns the tree that the sandbox began with.
    pub fn old(&self) -> Tree<Vec<u8>> {
        forms::tree(&self.old)
    }

    /// Returns the tree that the sandbox made of it.
    pub fn changed(&self) -> Tree<Vec<u8>> {
        forms::tree(&self.new)
    }

    /// Returns the tree that the host has now.
    pub fn host(&self) -> Tree<Vec<u8>> {
        forms::tree(&self.host)
    }

    /// Returns the differences, one on each line, between the files that the sandbox should have once the host's tree is
    /// staged anew, and those that it has if it keeps its own files at some paths and has the host's everywhere else.
    /// `None` if both sides changed a path in different ways.
    pub fn restage_differences(
        &self,
        kept: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> Option<Vec<String>> {
        let expected = forms::of(&restage::restaged(&self.old, &self.new, &self.host)?);
        let (mut found, own) = (forms::of(&self.host), forms::of(&self.new));
        for path in kept {
            let path = String::from_utf8_lossy(path.as_ref());
            let path = path.trim_start_matches('/');
            found.remove(path);
            found.extend(own.get(path).map(|form| (path.to_owned(), form.clone())));
        }
        Some(forms::differences(&expected, &found))
    }

    /// Makes the host's tree in an empty directory.
    ///
    /// # Panics
    /// If the directory cannot be written to.
    pub fn write_host(&self, directory: &Path) {
        forms::write(&self.host, directory);
    }

    /// Returns true if the sandbox and the host changed something, and not the same.
    pub fn both_changed(&self) -> bool {
        let [old, new, host] = [&self.old, &self.new, &self.host].map(forms::of);
        old != new && old != host && new != host
    }

    /// Returns the end of an apply of the sandbox's changes, all of which are given.
    ///
    /// # Panics
    /// If one is missing.
    pub fn end(&self, changes: &[SandboxChange]) -> ApplyEnd {
        let end = model::end((&self.old, &self.new, &self.host), changes);
        // Two ends that need no model.
        let [old, new, host] = [&self.old, &self.new, &self.host].map(forms::of);
        if host == old || host == new {
            assert_eq!(end.files().map(forms::of), Some(new), "{self:?}");
        }
        end
    }
}
