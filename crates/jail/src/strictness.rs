use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The environment variable that says how strict to be: a word of [`Strictness`].
pub const JAIL_VARIABLE: &str = "MSB_JAIL";

/// What to do where the host lacks a layer of a jail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strictness {
    /// Confine nothing: for debugging.
    Off,
    /// Put on what the host has, and report the rest.
    #[default]
    Auto,
    /// Refuse to go on without every layer.
    Required,
}

impl Strictness {
    /// What `MSB_JAIL` calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Auto => "auto",
            Self::Required => "required",
        }
    }
}

impl fmt::Display for Strictness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that says no strictness.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{word}' is no strictness of the jail: expected off, auto or required")]
pub struct UnknownStrictness {
    /// The word.
    pub word: String,
}

impl FromStr for Strictness {
    type Err = UnknownStrictness;

    fn from_str(word: &str) -> Result<Self, UnknownStrictness> {
        [Self::Off, Self::Auto, Self::Required]
            .into_iter()
            .find(|strictness| strictness.name() == word)
            .ok_or_else(|| UnknownStrictness {
                word: word.to_owned(),
            })
    }
}
