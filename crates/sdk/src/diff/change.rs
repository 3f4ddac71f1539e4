use msb_sandbox_files::Diff as DiskDiff;
use serde::Serialize;

use crate::{FileInfo, Text};

/// A name that stands for different files on the two sides of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The path, with a leading `/`.
    pub path: Text,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The properties of a changed file that differ: `type`, `content`, `mode`, `owner`, `mtime`,
    /// `xattrs`, `target`, `device`, `links`. Empty unless the kind is
    /// [`Changed`](ChangeKind::Changed).
    pub changed: Vec<&'static str>,
    /// The old file; `None` if the name was added.
    pub old: Option<ChangedFile>,
    /// The new file; `None` if the name was deleted.
    pub new: Option<ChangedFile>,
    /// Another name of the new file, which has several.
    pub hard_link: Option<Text>,
    /// The path from which the file was moved, if that is known: a directory of the image that was
    /// renamed, or a file that was renamed and whose content is the image's. Set for the top of a
    /// moved tree only.
    pub renamed_from: Option<Text>,
    /// True if the name is deleted because a directory above it is deleted or replaced.
    pub is_implied: bool,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// The name is new.
    Added,
    /// The name stands for a file with other properties.
    Changed,
    /// The name does not exist any more.
    Deleted,
}

/// The attributes of a file on one side of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChangedFile {
    /// The attributes that every file has.
    #[serde(flatten)]
    pub info: FileInfo,
    /// The extended attributes, sorted by name.
    pub xattrs: Vec<Xattr>,
}

/// An extended attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Xattr {
    /// The full name, such as `user.note`.
    pub name: Text,
    /// The value.
    pub value: Text,
}

impl ChangeKind {
    /// Returns the letter that `docker diff` prints: `A`, `C` or `D`.
    pub const fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Changed => 'C',
            Self::Deleted => 'D',
        }
    }
}

impl From<tree_diff::ChangeKind> for ChangeKind {
    fn from(kind: tree_diff::ChangeKind) -> Self {
        match kind {
            tree_diff::ChangeKind::Added => Self::Added,
            tree_diff::ChangeKind::Changed(_) => Self::Changed,
            tree_diff::ChangeKind::Deleted => Self::Deleted,
        }
    }
}

impl Change {
    /// Returns the path on one line, as [`Text::quoted`] does.
    pub fn quoted_path(&self) -> String {
        self.path.quoted()
    }

    /// Returns the change with an index; `None` if there are fewer.
    pub(super) fn at(found: &DiskDiff, index: usize) -> Option<Self> {
        let change = found.change(index)?;
        let changed = match change.kind {
            tree_diff::ChangeKind::Changed(differences) => differences.names().collect(),
            _ => Vec::new(),
        };
        let name = change.path.rsplit(|&byte| byte == b'/').next();
        let name = name.unwrap_or_default();
        let file = |file: msb_sandbox_files::ChangedFile<'_>| ChangedFile::new(name, &file);
        Some(Self {
            path: Text::from(&change.path[..]),
            kind: change.kind.into(),
            changed,
            old: found.old_file(index).map(file),
            new: found.new_file(index).map(file),
            hard_link: change.hard_link.as_deref().map(Text::from),
            renamed_from: change.renamed_from.as_deref().map(Text::from),
            is_implied: change.is_implied,
        })
    }
}

impl ChangedFile {
    fn new(name: &[u8], file: &msb_sandbox_files::ChangedFile<'_>) -> Self {
        let xattrs = file.xattrs.iter().map(|(name, value)| Xattr {
            name: name.into(),
            value: value.into(),
        });
        Self {
            info: FileInfo::new(name, &file.stat),
            xattrs: xattrs.collect(),
        }
    }
}
