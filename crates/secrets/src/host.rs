use std::fmt;
use std::str::FromStr;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use serde::{Deserialize, Serialize};

use crate::shown::shown;

#[cfg(test)]
mod tests;

/// The longest name in text, and the longest label, in bytes (RFC 1035, section 2.3.4).
const NAME_MAX_BYTES: usize = 253;
const LABEL_MAX_BYTES: usize = 63;
/// The name of the host in a sandbox, where a file has its address (`host_files.rs` in the agent).
const OWN_NAME: &str = "host.msb.internal";

/// The name of a host: labels of lower-case letters, digits and hyphens, without a trailing dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

/// The hosts that may receive a secret, or that a rule allows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum HostPattern {
    /// A single host.
    Exact(HostName),
    /// Every host below a name, `*.example.com`, at any depth, and not the name itself.
    Below(HostName),
}

/// The text names no hosts that a secret can be for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHost {
    /// The pattern would match every host.
    #[error("'*' is every host: write a name such as api.example.com, or *.example.com")]
    Everything,
    /// The pattern would match every host of a top-level domain.
    #[error("'{}' is too many hosts: write a name of two parts behind *., such as *.example.com", shown(.text))]
    TopLevel {
        /// The refused text.
        text: String,
    },
    /// The text is an address, for which there is no certificate to check.
    #[error("'{}' is an address: write the name of the host, which its certificate proves", shown(.text))]
    Address {
        /// The refused text.
        text: String,
    },
    /// The text has letters that are not in ASCII.
    #[error("'{}' is not in ASCII: write the name in the form that begins with xn--", shown(.text))]
    International {
        /// The refused text.
        text: String,
    },
    /// The pattern matches the name of this host, whose address no resolver tells the sandbox.
    #[error(
        "'{}' is this host, whose address a sandbox knows without a resolver, so that its connections there are not \
         looked into: write a name that resolvers know, such as one for an address of this host",
        shown(.text)
    )]
    Own {
        /// The refused text.
        text: String,
    },
    /// The text is not a name of a host.
    #[error("'{}' is not the name of a host: write one such as api.example.com or *.example.com", shown(.text))]
    Form {
        /// The refused text.
        text: String,
    },
}

impl HostName {
    /// Returns the name as text, in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl HostPattern {
    /// Returns true if the pattern matches a name without a trailing dot, in any case.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact.0.eq_ignore_ascii_case(name),
            Self::Below(below) => name
                .len()
                .checked_sub(below.0.len())
                .and_then(|split| name.split_at_checked(split))
                .is_some_and(|(labels, parent)| {
                    let labels = labels.strip_suffix('.').unwrap_or_default();
                    parent.eq_ignore_ascii_case(&below.0) && is_name(&labels.to_ascii_lowercase())
                }),
        }
    }

    /// Returns the pattern as a permitted subtree of a certificate's name constraints (RFC 5280,
    /// section 4.2.1.10): `api.example.com` or `.example.com`.
    #[must_use]
    pub fn permitted_subtree(&self) -> String {
        match self {
            Self::Exact(name) => name.0.clone(),
            Self::Below(name) => format!(".{}", name.0),
        }
    }
}

impl FromStr for HostName {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let refused = || text.to_owned();
        if !text.is_ascii() {
            return Err(InvalidHost::International { text: refused() });
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        // A last label of digits is a mistyped address at best.
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || name.starts_with('[') {
            return Err(InvalidHost::Address { text: refused() });
        }
        if name.len() > NAME_MAX_BYTES || !is_name(&name) {
            return Err(InvalidHost::Form { text: refused() });
        }
        Ok(Self(name))
    }
}

/// Returns true if all labels of a lower-case text are labels of hosts.
fn is_name(text: &str) -> bool {
    text.split('.').all(|label| {
        (1..=LABEL_MAX_BYTES).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    })
}

impl FromStr for HostPattern {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        if matches!(text, "*" | "*.") {
            return Err(InvalidHost::Everything);
        }
        let refused = || text.to_owned();
        let pattern = match text.strip_prefix("*.") {
            None => Self::Exact(text.parse()?),
            Some(below) => Self::Below(below.parse()?),
        };
        match &pattern {
            Self::Below(below) if !below.0.contains('.') => {
                Err(InvalidHost::TopLevel { text: refused() })
            }
            // A connection to an address that was resolved for no name is passed on: the host would get placeholders,
            // and no rule for requests would hold.
            _ if pattern.matches(OWN_NAME) => Err(InvalidHost::Own { text: refused() }),
            _ => Ok(pattern),
        }
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => write!(f, "{name}"),
            Self::Below(name) => write!(f, "*.{name}"),
        }
    }
}

impl TryFrom<String> for HostPattern {
    type Error = InvalidHost;

    fn try_from(text: String) -> Result<Self, InvalidHost> {
        text.parse()
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.to_string()
    }
}

impl Diagnose for InvalidHost {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Everything
            | Self::TopLevel { .. }
            | Self::Address { .. }
            | Self::International { .. }
            | Self::Own { .. }
            | Self::Form { .. } => Diagnosis::new(ErrorKind::InvalidArgument),
        }
    }
}
