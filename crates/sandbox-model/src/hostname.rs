use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest host name of Linux (`HOST_NAME_MAX`), in bytes.
const LENGTH_MAX: usize = 64;
/// The longest part between two dots, in bytes: that of a label in DNS.
const LABEL_MAX: usize = 63;

/// The host name of a guest, if it differs from the sandbox's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Hostname(String);

/// The text is not a valid host name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{name}' is not a host name: write at most 64 letters, digits, '-', '_' and dots; each part \
     between dots has at most 63 characters and begins and ends with a letter or digit"
)]
pub struct InvalidHostname {
    /// The refused text, escaped.
    pub name: String,
}

impl FromStr for Hostname {
    type Err = InvalidHostname;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() <= LENGTH_MAX && text.split('.').all(is_label) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidHostname {
                name: text.escape_default().to_string(),
            })
        }
    }
}

fn is_label(text: &str) -> bool {
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    bytes.len() <= LABEL_MAX
        && is_edge(bytes.first())
        && is_edge(bytes.last())
        && bytes.iter().all(is_inner)
}

impl TryFrom<String> for Hostname {
    type Error = InvalidHostname;

    fn try_from(text: String) -> Result<Self, InvalidHostname> {
        text.parse()
    }
}

impl From<Hostname> for String {
    fn from(name: Hostname) -> Self {
        name.0
    }
}

impl fmt::Display for Hostname {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hosts_are_names_in_parts() {
        let longest = format!("{}.{}", "a".repeat(32), "b".repeat(31));
        let label = "c".repeat(63);
        for name in ["a", "0", "My-host_1", "web.example.com", &longest, &label] {
            assert!(name.parse::<Hostname>().is_ok(), "{name}");
        }
        let long_label = "c".repeat(64);
        let too_long = format!("{longest}x");
        for name in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "-a",
            "a-",
            "a b",
            "a\n",
            "ä",
            "a;b",
            "a=b",
            "\"",
            &long_label,
            &too_long,
        ] {
            assert!(name.parse::<Hostname>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_stored_name_is_checked_again() {
        let name: Hostname = "web.example.com".parse().expect("a name");
        let json = serde_json::to_string(&name).expect("written");
        assert_eq!(serde_json::from_str::<Hostname>(&json).expect("read"), name);
        assert!(serde_json::from_str::<Hostname>("\"a b\"").is_err());
    }
}
