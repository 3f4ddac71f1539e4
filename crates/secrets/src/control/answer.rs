use std::fmt;

use serde::{Deserialize, Serialize};

use crate::name::SecretName;

/// An answer of a sandbox's network process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ControlAnswer {
    /// The request was carried out.
    Done,
    /// The request was refused.
    Refused {
        /// The reason, as a clause.
        message: String,
    },
    /// The secrets of the sandbox.
    Secrets(Vec<SecretState>),
}

/// The state of a secret in a running sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretState {
    /// Name of the secret.
    pub name: SecretName,
    /// State of its value.
    pub state: ValueState,
}

/// The state of a secret's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueState {
    /// The value is used.
    Held,
    /// No value has arrived yet.
    Missing,
    /// The value must not be used any longer, and no newer one has arrived.
    Expired,
    /// The value was removed.
    Removed,
}

impl ControlAnswer {
    /// Returns the answer as a line, with its end.
    ///
    /// # Errors
    /// None that is known: all its parts can be written.
    pub fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

impl fmt::Display for ValueState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held => "held",
            Self::Missing => "missing",
            Self::Expired => "expired",
            Self::Removed => "removed",
        })
    }
}
