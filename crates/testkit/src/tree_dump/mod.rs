mod content;
mod directory;
mod line;
mod tree;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::PathBuf;

pub use content::Content;
use line::Line;

/// The contents of a filesystem: a line for every name, in bytewise order of the paths.
///
/// A line has these fields; `-` stands for a field that the type does not have.
///
/// ```text
/// path type mode uid:gid size mtime rdev target links xattrs sha256
/// /bin/sh - 0755 0:0 12 1700000000.000000000 - - /bin/ash user.a=6869 9f86d0...
/// ```
///
/// The space, and bytes other than printable ASCII, are escaped. `links` is the first of several
/// paths to the same file. The xattrs of overlayfs are omitted. If a file in a directory is larger
/// than 1 GiB, its digest covers only the first and the last MiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeDump {
    lines: Vec<Line>,
}

/// An error while a directory is dumped.
#[derive(Debug, thiserror::Error)]
#[error("{path:?}: {source}")]
pub struct DumpError {
    /// Path that could not be read.
    pub path: PathBuf,
    /// Cause reported by the host.
    pub source: io::Error,
}

impl TreeDump {
    fn new(mut lines: Vec<Line>) -> Self {
        lines.sort_by(|one, other| one.path.cmp(&other.path));
        Line::group(&mut lines);
        Self { lines }
    }

    /// Returns the lines that only one of the two dumps contains, for messages: `-` marks those of
    /// `self`, `+` those of `other`.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let text =
            |dump: &Self| -> BTreeSet<String> { dump.lines.iter().map(Line::to_string).collect() };
        let (ours, theirs) = (text(self), text(other));
        let gone = ours.difference(&theirs).map(|line| format!("- {line}"));
        let new = theirs.difference(&ours).map(|line| format!("+ {line}"));
        gone.chain(new).collect()
    }
}

impl fmt::Display for TreeDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}
