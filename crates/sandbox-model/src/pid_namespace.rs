use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The namespace of process IDs that commands see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PidNamespace {
    /// The sandbox's own namespace, in which the main command is process 1.
    #[default]
    Private,
    /// The namespace of the virtual machine, in which msb's agent is process 1.
    Host,
}

/// The text is not a [`PidNamespace`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{}' is not a PID namespace: write private or host", .text.escape_debug())]
pub struct InvalidPidNamespace {
    /// The text that was refused.
    pub text: String,
}

impl PidNamespace {
    /// Every namespace, the default first.
    pub const ALL: [Self; 2] = [Self::Private, Self::Host];

    /// Returns the name of the namespace.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for PidNamespace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for PidNamespace {
    type Err = InvalidPidNamespace;

    fn from_str(text: &str) -> Result<Self, InvalidPidNamespace> {
        let mut all = Self::ALL.into_iter();
        all.find(|namespace| namespace.as_str() == text)
            .ok_or_else(|| InvalidPidNamespace {
                text: text.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_one_name() {
        for namespace in PidNamespace::ALL {
            assert_eq!(namespace.to_string().parse(), Ok(namespace));
            let json = serde_json::to_value(namespace).expect("written");
            assert_eq!(json, namespace.as_str());
        }
        assert_eq!(PidNamespace::ALL[0], PidNamespace::default());
        let refused = "net".parse::<PidNamespace>().expect_err("no namespace");
        assert_eq!(refused.text, "net");
    }
}
