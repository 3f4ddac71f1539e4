use bytes::Bytes;
use serde::Serialize;

/// A change in the form of `git diff`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patch {
    /// The text, with the prefixes `a/` and `b/`; empty if nothing of the change can be expressed.
    pub text: Bytes,
    /// The extent of the change.
    pub lines: PatchLines,
    /// True if `git apply` does not make the whole change: a patch does not express owners,
    /// permission bits other than execution, xattrs, devices, empty directories, hard links and
    /// binary files. Times are not counted.
    pub is_partial: bool,
}

/// The extent of a change of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PatchLines {
    /// The file has no content, or its content is unchanged.
    Unchanged,
    /// The file is text.
    Text {
        /// Number of lines that were inserted.
        inserted: u64,
        /// Number of lines that were deleted.
        deleted: u64,
    },
    /// The file is not text, or is longer than 8 MiB.
    Binary {
        /// Size of the old file, in bytes; 0 if it did not exist.
        old_bytes: u64,
        /// Size of the new file, in bytes; 0 if it does not exist.
        new_bytes: u64,
    },
}

impl From<tree_diff::Patch> for Patch {
    fn from(patch: tree_diff::Patch) -> Self {
        Self {
            text: patch.text.into(),
            lines: match patch.lines {
                tree_diff::Lines::Unchanged => PatchLines::Unchanged,
                tree_diff::Lines::Text { inserted, deleted } => {
                    PatchLines::Text { inserted, deleted }
                }
                tree_diff::Lines::Binary {
                    old_bytes,
                    new_bytes,
                } => PatchLines::Binary {
                    old_bytes,
                    new_bytes,
                },
            },
            is_partial: patch.is_partial,
        }
    }
}
