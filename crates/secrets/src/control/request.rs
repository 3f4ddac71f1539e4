use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::LINE_MAX_BYTES;
use crate::name::SecretName;
use crate::value::{SecretValue, VALUE_MAX_BYTES};

/// Bytes of a line beside the value: keys, the name, and the expiry.
const LINE_FRAME_BYTES: usize = 512;

/// A request to a sandbox's network process.
///
/// It can be parsed from JSON. Only a [`ControlClient`](super::ControlClient) writes it, because a value is
/// not to get into any other text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ControlRequest {
    /// Sets the value of a secret, and replaces an earlier one.
    Set {
        /// Name of the secret.
        name: SecretName,
        /// The new value.
        value: SecretValue,
        /// The time after which the value must not be used any longer, in milliseconds from the arrival of
        /// the request; `None` if it does not expire.
        #[serde(default)]
        expires_ms: Option<u64>,
    },
    /// Removes the value of a secret, until another one is set.
    Remove {
        /// Name of the secret.
        name: SecretName,
    },
    /// Lists the secrets and the states of their values.
    List,
}

/// A request as it is written.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Written<'a> {
    Set {
        name: &'a SecretName,
        value: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_ms: Option<u64>,
    },
    Remove {
        name: &'a SecretName,
    },
    List,
}

impl ControlRequest {
    /// Parses a line of a client, without its end.
    ///
    /// # Errors
    /// A line that is no request. The error contains no part of a value.
    pub fn parse(line: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(line)
    }

    /// Returns the request as a line, whose memory is overwritten when it is dropped.
    pub(super) fn line(&self) -> serde_json::Result<Zeroizing<Vec<u8>>> {
        let written = match self {
            Self::Set {
                name,
                value,
                expires_ms,
            } => Written::Set {
                name,
                value: value.expose(),
                expires_ms: *expires_ms,
            },
            Self::Remove { name } => Written::Remove { name },
            Self::List => Written::List,
        };
        // The buffer does not grow, because growing leaves a copy behind: a character of a value needs at
        // most two bytes for each of its own.
        const {
            assert!(2 * VALUE_MAX_BYTES + LINE_FRAME_BYTES <= LINE_MAX_BYTES);
        }
        let mut line = Zeroizing::new(Vec::<u8>::with_capacity(
            2 * VALUE_MAX_BYTES + LINE_FRAME_BYTES,
        ));
        serde_json::to_writer(&mut *line, &written)?;
        line.push(b'\n');
        Ok(line)
    }
}
