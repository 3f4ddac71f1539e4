use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use msb_secrets::SecretName;
use thiserror::Error;

/// The sandbox has no secret of a name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the sandbox has no secret {name}")]
pub struct NoSuchSecret {
    /// The name.
    pub name: SecretName,
}

/// A value cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotSet {
    /// The sandbox has no such secret.
    #[error(transparent)]
    NoSuchSecret(#[from] NoSuchSecret),
    /// The secret was removed from the sandbox.
    #[error("secret {name} was removed from the sandbox")]
    Removed {
        /// The name of the secret.
        name: SecretName,
    },
}

/// A reason why a request cannot have a secret's value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoValue {
    /// No value was given in time.
    #[error("secret {name} has no value yet, set one with msb secret set")]
    Missing {
        /// The name of the secret.
        name: SecretName,
    },
    /// The value has expired, and no other one was given in time.
    #[error("the value of secret {name} has expired, set another one with msb secret set")]
    Expired {
        /// The name of the secret.
        name: SecretName,
    },
    /// The secret was removed.
    #[error("secret {name} was removed from the sandbox with msb secret rm")]
    Removed {
        /// The name of the secret.
        name: SecretName,
    },
}

impl Diagnose for NoSuchSecret {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(ErrorKind::NotFound).detail("secret", self.name.to_string())
    }
}

impl Diagnose for NotSet {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NoSuchSecret(source) => source.diagnosis(),
            Self::Removed { name } => {
                Diagnosis::new(ErrorKind::NotFound).detail("secret", name.to_string())
            }
        }
    }
}

impl Diagnose for NoValue {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Missing { name } | Self::Expired { name } | Self::Removed { name } => {
                Diagnosis::new(ErrorKind::NotFound).detail("secret", name.to_string())
            }
        }
    }
}
