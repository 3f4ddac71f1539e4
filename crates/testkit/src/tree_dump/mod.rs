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

/// What a file system holds: a line for every name, in bytewise order of the paths.
///
/// The fields of a line, `-` where a type has none:
///
/// ```text
/// path type mode uid:gid size mtime rdev target links xattrs sha256
/// /bin/sh - 0755 0:0 12 1700000000.000000000 - - /bin/ash user.a=6869 9f86d0...
/// ```
///
/// Bytes other than printable ASCII, and the space, are escaped. `links` is the first path of
/// several that name one file. Overlayfs's own xattrs are left out. Of a file of more than 1 GiB in a
/// directory the digest is that of its first and its last MiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeDump {
    lines: Vec<Line>,
}

/// Why a directory cannot be dumped.
#[derive(Debug, thiserror::Error)]
#[error("{path:?}: {source}")]
pub struct DumpError {
    /// What could not be read.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl TreeDump {
    fn new(mut lines: Vec<Line>) -> Self {
        lines.sort_by(|one, other| one.path.cmp(&other.path));
        Line::group(&mut lines);
        Self { lines }
    }

    /// The lines that only one of them has: `-` this, `+` the other; for messages.
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
