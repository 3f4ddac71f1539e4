use std::fmt;
use std::str::FromStr;

use msb_runtime::is_plain_name;
use serde::{Deserialize, Serialize};

/// Maximum length of a name, in bytes.
const LENGTH_MAX: usize = 63;

/// A snapshot's name: 1 to 63 letters, digits, `-`, `_` or `.`, a letter or digit first. It is unique
/// among the snapshots of one sandbox.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SnapshotName(String);

/// A text that is not a valid snapshot name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{word}' is not a snapshot name: write 1 to 63 letters, digits, '-', '_' or '.', beginning with \
     a letter or digit"
)]
pub struct InvalidSnapshotName {
    /// The text that was given.
    pub word: String,
}

impl SnapshotName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a name that is the number of a snapshot.
    pub(super) fn numbered(number: u64) -> Self {
        Self(number.to_string())
    }
}

impl FromStr for SnapshotName {
    type Err = InvalidSnapshotName;

    fn from_str(word: &str) -> Result<Self, InvalidSnapshotName> {
        if is_plain_name(word, LENGTH_MAX) {
            return Ok(Self(word.to_owned()));
        }
        Err(InvalidSnapshotName {
            word: word.to_owned(),
        })
    }
}

impl TryFrom<String> for SnapshotName {
    type Error = InvalidSnapshotName;

    fn try_from(text: String) -> Result<Self, InvalidSnapshotName> {
        text.parse()
    }
}

impl From<SnapshotName> for String {
    fn from(name: SnapshotName) -> Self {
        name.0
    }
}

impl fmt::Display for SnapshotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
