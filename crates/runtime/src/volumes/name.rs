use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a volume is called: 1 to 128 letters, digits, `-`, `_` or `.`, a letter or digit first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VolumeName(String);

/// A word that names no volume.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{word}' is no volume name: 1 to 128 letters, digits, '-', '_' or '.', a letter or digit first; a \
     path of the host begins with '/' or '.'"
)]
pub struct InvalidVolumeName {
    /// The word.
    pub word: String,
}

impl VolumeName {
    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for VolumeName {
    type Err = InvalidVolumeName;

    fn from_str(word: &str) -> Result<Self, InvalidVolumeName> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let begins_well = word
            .bytes()
            .next()
            .is_some_and(|first| first.is_ascii_alphanumeric());
        if begins_well && word.len() <= 128 && word.bytes().all(is_plain) {
            return Ok(Self(word.to_owned()));
        }
        Err(InvalidVolumeName {
            word: word.to_owned(),
        })
    }
}

impl TryFrom<String> for VolumeName {
    type Error = InvalidVolumeName;

    fn try_from(word: String) -> Result<Self, InvalidVolumeName> {
        word.parse()
    }
}

impl From<VolumeName> for String {
    fn from(name: VolumeName) -> Self {
        name.0
    }
}

impl fmt::Display for VolumeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
