//! Changes as `git diff` prints them.

mod blob;
mod lines;
mod quote;
mod text_change;
mod unified;

use blob::Blob;
pub use blob::TEXT_MAX_BYTES;
pub use quote::{Quoting, quoted};
pub use text_change::{Overlap, TextChange};

use fstree::InodeId;

use crate::{Change, ChangeKind, CompareError, Differences, Side};
use quote::Label;
use unified::Effort;

/// The permission bit that a patch can express: execution by the owner.
const EXECUTABLE: u16 = 0o100;

// Git's short names of a file that does not exist and of an empty one. By them alone `patch` makes
// and removes empty files, which have no lines.
const NO_BLOB: &str = "0000000";
const EMPTY_BLOB: &str = "e69de29";

/// A change as a part of a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// The text, in the form of `git diff`; empty if nothing of the change can be expressed.
    pub text: Vec<u8>,
    /// The extent of the change.
    pub lines: Lines,
    /// True if `git apply` does not make the whole change: a patch expresses regular files of text,
    /// symlinks, and execution by the owner, but not owners, other permission bits, xattrs,
    /// devices, empty directories, hard links and binary files. Times are not counted.
    pub is_partial: bool,
}

/// The extent of the change of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lines {
    /// The file has no content, or its content is unchanged.
    #[default]
    Unchanged,
    /// The file is text.
    Text {
        /// Number of lines that were inserted.
        inserted: u64,
        /// Number of lines that were deleted.
        deleted: u64,
    },
    /// The file is not text, or is longer than [`TEXT_MAX_BYTES`].
    Binary {
        /// Size of the old file, in bytes; 0 if it did not exist.
        old_bytes: u64,
        /// Size of the new file, in bytes; 0 if it does not exist.
        new_bytes: u64,
    },
}

/// Formats the changes of one comparison as `git diff` does, with the prefixes `a/` and `b/`.
///
/// Binary files are only named, in a line that `git apply` and `patch` skip. Where two texts differ
/// in too many lines to be aligned in reasonable time, all lines between the first and the last
/// difference are replaced.
#[derive(Debug, Default)]
pub struct Patcher {
    effort: Effort,
}

impl Patcher {
    /// Returns the patch of a change. Time and memory are bounded for all changes together.
    ///
    /// # Errors
    /// If content cannot be read.
    pub fn patch<O, N>(
        &mut self,
        old: &O,
        new: &N,
        change: &Change,
    ) -> Result<Patch, CompareError<O::Error>>
    where
        O: Side,
        N: Side<Error = O::Error>,
    {
        patch(old, new, change, &mut self.effort)
    }

    /// Returns the changed lines of a file that is text in both trees. `None` if one of the two is no regular
    /// file of text, or the content is equal.
    ///
    /// # Errors
    /// If content cannot be read.
    pub fn text_change<O, N>(
        &mut self,
        (old, old_id): (&O, InodeId),
        (new, new_id): (&N, InodeId),
    ) -> Result<Option<TextChange>, O::Error>
    where
        O: Side,
        N: Side<Error = O::Error>,
    {
        let one = Blob::read(old, Some(old_id))?.and_then(Blob::into_text);
        let other = Blob::read(new, Some(new_id))?.and_then(Blob::into_text);
        let (Some(one), Some(other)) = (one, other) else {
            return Ok(None);
        };
        let change = TextChange::with_effort(one, other, &mut self.effort);
        Ok(Some(change).filter(|change| !change.is_empty()))
    }
}

/// Returns true if bytes are text, as git decides.
#[must_use]
pub fn is_text(bytes: &[u8]) -> bool {
    blob::is_text(bytes)
}

fn patch<O, N>(
    old: &O,
    new: &N,
    change: &Change,
    effort: &mut Effort,
) -> Result<Patch, CompareError<O::Error>>
where
    O: Side,
    N: Side<Error = O::Error>,
{
    let unreadable = |source| CompareError::Read {
        path: change.path.clone(),
        source,
    };
    let mut patch = Patch {
        is_partial: is_partial(old, new, change),
        ..Patch::default()
    };
    if let ChangeKind::Changed(differences) = change.kind
        && !differences.intersects(Differences::CONTENT | Differences::TARGET | Differences::TYPE)
    {
        let (one, other) = (blob::mode(old, change.old), blob::mode(new, change.new));
        if let (Some(one), Some(other)) = (one, other) {
            patch.add_modes(&change.path, one, other);
        }
        return Ok(patch);
    }
    let one = Blob::read(old, change.old).map_err(unreadable)?;
    let other = Blob::read(new, change.new).map_err(unreadable)?;
    match (one, other) {
        // `patch` takes a changed symlink for a regular file unless it is made anew.
        (Some(one), Some(other)) if one.is_symlink() || other.is_symlink() => {
            patch.add(&change.path, Some(&one), None, effort);
            patch.add(&change.path, None, Some(&other), effort);
        }
        (one, other) => patch.add(&change.path, one.as_ref(), other.as_ref(), effort),
    }
    Ok(patch)
}

impl Patch {
    /// Adds the change of one file to another, either of which may not exist.
    fn add(&mut self, path: &[u8], old: Option<&Blob>, new: Option<&Blob>, effort: &mut Effort) {
        if old.is_none() && new.is_none() {
            return;
        }
        let label = |prefix: &'static [u8], blob: Option<&Blob>| {
            blob.map_or(Label::Nothing, |_| Label::File { prefix, path })
        };
        let labels = (label(b"a", old), label(b"b", new));
        let bytes = |blob: Option<&Blob>| blob.map_or(0, Blob::size_bytes);
        let (Some(one), Some(other)) = (Blob::text(old), Blob::text(new)) else {
            labels.0.push_binary(&labels.1, &mut self.text);
            self.lines = Lines::Binary {
                old_bytes: bytes(old),
                new_bytes: bytes(new),
            };
            self.is_partial = true;
            if let (Some(old), Some(new)) = (old, new) {
                self.add_modes(path, old.mode(), new.mode());
            }
            return;
        };
        match (old, new) {
            (Some(old), Some(new)) => {
                quote::push_header(path, &mut self.text);
                self.push_mode_change(old.mode(), new.mode());
            }
            (None, Some(new)) => {
                quote::push_header(path, &mut self.text);
                self.push_line("new file mode ", new.mode());
                if other.is_empty() {
                    self.push_line("index ", &format!("{NO_BLOB}..{EMPTY_BLOB}"));
                }
            }
            (Some(old), None) => {
                quote::push_header(path, &mut self.text);
                self.push_line("deleted file mode ", old.mode());
                if one.is_empty() {
                    self.push_line("index ", &format!("{EMPTY_BLOB}..{NO_BLOB}"));
                }
            }
            (None, None) => {}
        }
        let before = self.lines;
        let changed = unified::push((one, other), &labels, effort, &mut self.text);
        self.lines = match (before, changed) {
            (Lines::Text { inserted, deleted }, (added, removed)) => Lines::Text {
                inserted: inserted + added,
                deleted: deleted + removed,
            },
            (_, (inserted, deleted)) => Lines::Text { inserted, deleted },
        };
    }

    /// Adds a change of the mode alone.
    fn add_modes(&mut self, path: &[u8], old: &str, new: &str) {
        if old != new {
            quote::push_header(path, &mut self.text);
            self.push_mode_change(old, new);
        }
    }

    fn push_mode_change(&mut self, old: &str, new: &str) {
        if old != new {
            self.push_line("old mode ", old);
            self.push_line("new mode ", new);
        }
    }

    fn push_line(&mut self, words: &str, value: &str) {
        self.text.extend_from_slice(words.as_bytes());
        self.text.extend_from_slice(value.as_bytes());
        self.text.push(b'\n');
    }
}

/// Returns true if a part of the change cannot be expressed, whatever the content is.
fn is_partial<O: Side, N: Side>(old: &O, new: &N, change: &Change) -> bool {
    let is_odd = blob::is_inexpressible(old, change.old) || blob::is_inexpressible(new, change.new);
    let ChangeKind::Changed(differences) = change.kind else {
        return is_odd || change.hard_link.is_some();
    };
    let mode = |tree_mode: Option<u16>| tree_mode.unwrap_or_default() & !EXECUTABLE;
    let other_bits = differences.contains(Differences::MODE) && {
        let one = change.old.map(|id| old.tree().inode(id).metadata.mode);
        let other = change.new.map(|id| new.tree().inode(id).metadata.mode);
        mode(one) & 0o7700 != mode(other) & 0o7700
    };
    let others =
        Differences::OWNER | Differences::XATTRS | Differences::DEVICE | Differences::LINKS;
    is_odd || other_bits || differences.intersects(others)
}
