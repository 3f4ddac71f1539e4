use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::as_text::described_as_text;
use crate::plain_name::is_plain_name;

/// Maximum length of a name, in bytes.
const LENGTH_MAX: usize = 128;

/// A volume's name: 1 to 128 letters, digits, `-`, `_` or `.`, a letter or digit first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VolumeName(String);

/// A text that is not a valid volume name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{word}' is not a volume name: write 1 to 128 letters, digits, '-', '_' or '.', beginning with \
     a letter or digit; a path of the host begins with '/' or '.'"
)]
pub struct InvalidVolumeName {
    /// The text that was given.
    pub word: String,
}

impl VolumeName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for VolumeName {
    type Err = InvalidVolumeName;

    fn from_str(word: &str) -> Result<Self, InvalidVolumeName> {
        if is_plain_name(word, LENGTH_MAX) {
            return Ok(Self(word.to_owned()));
        }
        Err(InvalidVolumeName {
            word: word.to_owned(),
        })
    }
}

described_as_text!(VolumeName);

impl fmt::Display for VolumeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
