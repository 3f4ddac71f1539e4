//! A secret of a sandbox: its destinations, its source and its place in requests.

use serde::Serialize;

use crate::destination::HttpsDestination;
use crate::interval::{EVERY_MAX_S, EVERY_MIN_S};
use crate::name::SecretName;
use crate::placeholder::{Placeholder, PlaceholderError, check_prefix};
use crate::placement::Placement;
use crate::source::SecretSource;
use crate::value::SecretValue;

mod document;
mod invalid;
mod text;

#[cfg(test)]
mod tests;

pub use invalid::{InvalidSecret, SECRETS_MAX};

/// Most destinations of a secret.
pub const DESTINATIONS_MAX: usize = 16;
/// Longest path of a secret's file in the guest, in bytes.
const FILE_MAX_BYTES: usize = 4095;
/// A key that signs requests, and is not sent in one.
const SIGNING_KEY: &str = "AWS_SECRET_ACCESS_KEY";

/// A secret that a sandbox uses and never has.
///
/// As text it is an argument of `--secret`, and as JSON an object of the SDKs' options and of a sandbox's
/// record. Its value is read from JSON, and never written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Secret {
    /// The name, and the variable that holds the placeholder in the guest.
    pub name: SecretName,
    /// The destinations that receive the value.
    pub to: Vec<HttpsDestination>,
    /// The source of the value on the host.
    pub from: SecretSource,
    /// The time between two reads of the source, in seconds; `None` if it is read once for each start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_s: Option<u64>,
    /// The part of a request that is replaced by the value.
    #[serde(rename = "in", skip_serializing_if = "Placement::is_default")]
    pub placement: Placement,
    /// The beginning of the placeholder, if clients check the form of the key.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// A file in the guest that holds the placeholder, instead of a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The placeholder; `None` until the sandbox is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<Placeholder>,
    /// The value that was given with the secret. It is not stored.
    #[serde(skip_serializing)]
    pub value: Option<SecretValue>,
}

impl Secret {
    /// Returns a secret for these destinations, whose value is that of the host's variable of its name.
    #[must_use]
    pub fn new(name: SecretName, to: Vec<HttpsDestination>) -> Self {
        let from = SecretSource::Env(name.to_string());
        Self {
            name,
            to,
            from,
            every_s: None,
            placement: Placement::Default,
            prefix: None,
            file: None,
            placeholder: None,
            value: None,
        }
    }

    /// Gives the secret a new random placeholder, unless it has one.
    ///
    /// # Errors
    /// An invalid prefix, or a host without randomness.
    pub fn draw_placeholder(&mut self) -> Result<(), PlaceholderError> {
        if self.placeholder.is_none() {
            self.placeholder = Some(Placeholder::random(self.prefix.as_deref())?);
        }
        Ok(())
    }

    /// Returns the time after which a value must not be used any longer, in milliseconds from its arrival;
    /// `None` if it does not expire.
    #[must_use]
    pub fn expires_ms(&self) -> Option<u64> {
        self.every_s.map(|every_s| every_s.saturating_mul(1_000))
    }

    /// Returns true if a destination of the secret has this host and this port.
    #[must_use]
    pub fn is_for(&self, name: &str, port: u16) -> bool {
        self.to
            .iter()
            .any(|destination| destination.is_for(name, port))
    }

    /// Checks the parts of the secret, each and together.
    ///
    /// # Errors
    /// A part that is invalid or missing, or that cannot stand beside another one.
    pub fn check(&self) -> Result<(), InvalidSecret> {
        let name = || self.name.clone();
        if self.name.as_str() == SIGNING_KEY {
            return Err(InvalidSecret::Signs { name: name() });
        }
        match self.to.len() {
            0 => return Err(InvalidSecret::NoDestination { name: name() }),
            1..=DESTINATIONS_MAX => {}
            count => {
                return Err(InvalidSecret::Destinations {
                    name: name(),
                    count,
                });
            }
        }
        if self.value.is_some() && self.from != SecretSource::Given {
            return Err(InvalidSecret::ValueAndSource { name: name() });
        }
        self.from.check()?;
        self.check_interval()?;
        self.prefix.as_deref().map_or(Ok(()), check_prefix)?;
        if !self.file.as_deref().is_none_or(is_guest_file) {
            return Err(InvalidSecret::File { name: name() });
        }
        Ok(())
    }

    fn check_interval(&self) -> Result<(), InvalidSecret> {
        let name = || self.name.clone();
        match self.every_s {
            None => Ok(()),
            Some(_) if !self.from.is_repeatable() => {
                Err(InvalidSecret::NotRepeatable { name: name() })
            }
            Some(EVERY_MIN_S..=EVERY_MAX_S) => Ok(()),
            Some(every_s) => Err(InvalidSecret::IntervalRange {
                name: name(),
                every_s,
            }),
        }
    }
}

/// Returns true if a text is an absolute path of a file, without `..`.
fn is_guest_file(path: &str) -> bool {
    let is_name = |name: &str| !matches!(name, "" | "." | "..");
    path.len() <= FILE_MAX_BYTES
        && !path.chars().any(char::is_control)
        && path
            .strip_prefix('/')
            .is_some_and(|names| names.split('/').all(is_name))
}
