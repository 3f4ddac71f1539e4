use std::fmt;
use std::str::FromStr;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use serde::{Deserialize, Serialize};

use crate::excerpt::excerpt;

/// The state of a path: what a sandbox may do with it, and what comes back from it. In text and in JSON
/// it is a word, such as `read-only`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The path can be read and changed.
    #[default]
    Allow,
    /// The path can be read; each change of it has to be approved.
    WriteAsk,
    /// The path can be read; no change of it is accepted.
    ReadOnly,
    /// Each access to the path has to be approved.
    Ask,
    /// The path's name can be seen; its content cannot.
    Deny,
    /// The path seems not to exist.
    Hide,
}

impl State {
    /// All states, from the one that permits most to the one that permits least.
    pub const ALL: [Self; 6] = [
        Self::Allow,
        Self::WriteAsk,
        Self::ReadOnly,
        Self::Ask,
        Self::Deny,
        Self::Hide,
    ];

    /// Returns the word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::WriteAsk => "write-ask",
            Self::ReadOnly => "read-only",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Hide => "hide",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text is not a [`State`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a state: write allow, write-ask, read-only, ask, deny or hide")]
pub struct InvalidState {
    /// The beginning of the text, escaped.
    pub text: String,
}

impl Diagnose for InvalidState {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(ErrorKind::InvalidArgument).detail("value", &self.text)
    }
}

impl FromStr for State {
    type Err = InvalidState;

    fn from_str(text: &str) -> Result<Self, InvalidState> {
        let named = Self::ALL.into_iter().find(|state| state.as_str() == text);
        named.ok_or_else(|| InvalidState {
            text: excerpt(text.as_bytes()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_json_have_the_same_words() {
        for state in State::ALL {
            assert_eq!(state.to_string().parse(), Ok(state));
            let json = serde_json::to_string(&state).expect("written");
            assert_eq!(json, format!("\"{state}\""));
            assert_eq!(serde_json::from_str::<State>(&json).expect("read"), state);
        }
        for text in ["", "Allow", "readonly", "allow ", "deny\u{1b}"] {
            let error = text.parse::<State>().expect_err(text);
            assert!(error.to_string().contains("allow, write-ask"), "{error}");
            assert!(!error.to_string().contains('\u{1b}'));
        }
    }
}
