use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The environment variable that sets the strictness, by the name of a [`Strictness`].
pub const JAIL_VARIABLE: &str = "MSB_JAIL";

/// The reaction to a host that lacks a layer of a jail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strictness {
    /// Apply the layers that the host has, and report the rest.
    #[default]
    Auto,
    /// Refuse to continue unless every layer is on.
    Required,
    /// Confine nothing. This is for debugging.
    Off,
}

impl Strictness {
    /// Returns the value of `MSB_JAIL` for this strictness.
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

/// The error for a word that does not name a strictness.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{word}' is not a mode of the jail: write off, auto or required")]
pub struct UnknownStrictness {
    /// The word that was refused.
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
