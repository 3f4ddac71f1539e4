use diagnosis::{Diagnose, Diagnosis, ErrorKind, Hint};

use super::DESTINATIONS_MAX;
use crate::destination::InvalidDestination;
use crate::interval::{EVERY_MAX_S, EVERY_MIN_S, InvalidInterval};
use crate::name::{InvalidName, SecretName};
use crate::placeholder::InvalidPlaceholder;
use crate::placement::InvalidPlacement;
use crate::shown::shown;
use crate::source::InvalidSource;

/// Most secrets of a sandbox.
pub const SECRETS_MAX: usize = 16;

/// The text, the object or the list is not one of secrets that a sandbox can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSecret {
    /// The text has neither form of a secret. It can contain a value, and is not repeated.
    #[error("a secret is written as NAME@HOST or name=NAME,to=HOST")]
    Form,
    /// The option contains the value.
    #[error(
        "the value of a secret cannot be a part of the option: the shell and the list of processes would show it"
    )]
    Literal,
    /// A key is not one of a secret.
    #[error("a secret has no key '{}': its keys are name, to, from, every, in, as and file", shown(.key))]
    Key {
        /// The key, of letters alone.
        key: String,
    },
    /// A key that can be given once is given twice.
    #[error("{key}= is given twice for a secret")]
    Repeated {
        /// The key.
        key: &'static str,
    },
    /// The name cannot be one.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// A destination cannot be one.
    #[error(transparent)]
    Destination(#[from] InvalidDestination),
    /// The source cannot be one.
    #[error(transparent)]
    Source(#[from] InvalidSource),
    /// The place in requests cannot be one.
    #[error(transparent)]
    Placement(#[from] InvalidPlacement),
    /// The beginning of the placeholder cannot be one.
    #[error(transparent)]
    Prefix(#[from] InvalidPlaceholder),
    /// The time between two reads cannot be one.
    #[error(transparent)]
    Interval(#[from] InvalidInterval),
    /// The time between two reads is too short or too long.
    #[error(
        "the secret {name} is read every {every_s} seconds, the limits are {EVERY_MIN_S} and {EVERY_MAX_S}"
    )]
    IntervalRange {
        /// Name of the secret.
        name: SecretName,
        /// The time, in seconds.
        every_s: u64,
    },
    /// The source cannot be read again.
    #[error("the secret {name} cannot be read again: every= needs from=cmd: or from=file:")]
    NotRepeatable {
        /// Name of the secret.
        name: SecretName,
    },
    /// The secret is for no host.
    #[error("the secret {name} has no host: write to=HOST, or {name}@HOST")]
    NoDestination {
        /// Name of the secret.
        name: SecretName,
    },
    /// The secret is for too many destinations.
    #[error("the secret {name} has {count} destinations, the limit is {DESTINATIONS_MAX}")]
    Destinations {
        /// Name of the secret.
        name: SecretName,
        /// Number of destinations.
        count: usize,
    },
    /// The file in the guest is not an absolute path.
    #[error(
        "the file of the secret {name} is not an absolute path of a file in the sandbox, without '..'"
    )]
    File {
        /// Name of the secret.
        name: SecretName,
    },
    /// A value was given together with another source.
    #[error("the secret {name} has a value and another source: give one of them")]
    ValueAndSource {
        /// Name of the secret.
        name: SecretName,
    },
    /// The option says that a value is given, which it cannot have.
    #[error(
        "from=given is the mark of a value that an SDK was given: write env:NAME, file:PATH or cmd:COMMAND"
    )]
    GivenInText,
    /// The key signs requests, and is in none of them.
    #[error("{name} cannot be a secret of a sandbox: it signs requests and is not sent in one")]
    Signs {
        /// Name of the secret.
        name: SecretName,
    },
    /// Two secrets have the same name.
    #[error("the secret {name} is given twice")]
    Duplicate {
        /// Name of the secrets.
        name: SecretName,
    },
    /// Two secrets have the same file in the guest.
    #[error("the secrets {first} and {second} have the same file in the sandbox")]
    SameFile {
        /// Name of a secret.
        first: SecretName,
        /// Name of another one.
        second: SecretName,
    },
    /// The sandbox has too many secrets.
    #[error("a sandbox with {count} secrets is not supported, the limit is {SECRETS_MAX}")]
    TooMany {
        /// Number of secrets.
        count: usize,
    },
}

impl Diagnose for InvalidSecret {
    fn diagnosis(&self) -> Diagnosis {
        let diagnosis = Diagnosis::new(ErrorKind::InvalidArgument);
        match self {
            Self::Form | Self::Key { .. } | Self::Repeated { .. } | Self::GivenInText => diagnosis,
            Self::Literal => diagnosis.hint(given_elsewhere()),
            Self::Name(source) => source.diagnosis(),
            Self::Destination(source) => source.diagnosis(),
            Self::Source(source) => source.diagnosis(),
            Self::Placement(source) => source.diagnosis(),
            Self::Prefix(source) => source.diagnosis(),
            Self::Interval(source) => source.diagnosis(),
            Self::Signs { name } => diagnosis.detail("name", name.as_str()).hint(
                "give the sandbox short-lived credentials of a role with few rights, or run a proxy that signs on \
                 the host",
            ),
            Self::IntervalRange { name, .. }
            | Self::NotRepeatable { name }
            | Self::NoDestination { name }
            | Self::Destinations { name, .. }
            | Self::File { name }
            | Self::ValueAndSource { name }
            | Self::Duplicate { name }
            | Self::SameFile { first: name, .. } => diagnosis.detail("name", name.as_str()),
            Self::TooMany { .. } => diagnosis,
        }
    }
}

/// Returns the ways to give a value that is not to be seen.
fn given_elsewhere() -> Hint {
    "put the value into a variable of its name and write NAME@HOST, or read it with from=file:PATH or from=cmd:COMMAND"
        .into()
}
