use std::fmt;
use std::str::FromStr;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use serde::{Deserialize, Serialize};

use crate::shown::shown;

/// Longest name of a header or a parameter, in bytes.
const NAME_MAX_BYTES: usize = 128;

/// Headers in which no secret can be placed: they belong to the connection, name the host, or lead to a proxy.
const REFUSED: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// The part of a request in which a placeholder is replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Placement {
    /// The usual headers of credentials: `default`.
    #[default]
    Default,
    /// A header, in lower case, whose whole value is the placeholder: `header:x-acme-key`.
    Header(String),
    /// A parameter of the query whose whole value is the placeholder: `query:key`.
    Query(String),
    /// The user or the password of `Authorization: Basic`: `basic`.
    Basic,
}

/// The text is not a placement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPlacement {
    /// The text has none of the known forms.
    #[error("'{}' is not a place for a secret: write header:NAME, query:NAME or basic", shown(.text))]
    Form {
        /// The refused text.
        text: String,
    },
    /// The text is not a name of a header.
    #[error("'{}' is not the name of a header: write one such as header:X-Api-Key", shown(.text))]
    Header {
        /// The refused text.
        text: String,
    },
    /// Secrets are never placed in this header.
    #[error(
        "a secret cannot be placed in the header {text}: write the header of the credential, such as header:X-Api-Key"
    )]
    Refused {
        /// Name of the header, in lower case.
        text: String,
    },
    /// The text is not a name of a parameter that is the same when it is encoded.
    #[error("'{}' is not the name of a parameter: write one of letters, digits, -, ., _ and ~, such as query:key", shown(.text))]
    Query {
        /// The refused text.
        text: String,
    },
}

impl Placement {
    /// Returns true for the default place, which records leave out.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::Default
    }
}

impl FromStr for Placement {
    type Err = InvalidPlacement;

    fn from_str(text: &str) -> Result<Self, InvalidPlacement> {
        match text.split_once(':') {
            None if text == "default" => Ok(Self::Default),
            None if text == "basic" => Ok(Self::Basic),
            Some(("header", name)) => header(name).map(Self::Header),
            Some(("query", name)) => query(name).map(Self::Query),
            _ => Err(InvalidPlacement::Form {
                text: text.to_owned(),
            }),
        }
    }
}

fn header(name: &str) -> Result<String, InvalidPlacement> {
    // A token (RFC 9110, section 5.6.2).
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !(1..=NAME_MAX_BYTES).contains(&name.len()) || !name.bytes().all(is_token) {
        return Err(InvalidPlacement::Header {
            text: name.to_owned(),
        });
    }
    let text = name.to_ascii_lowercase();
    if REFUSED.contains(&text.as_str()) || text.starts_with("proxy-") {
        return Err(InvalidPlacement::Refused { text });
    }
    Ok(text)
}

fn query(name: &str) -> Result<String, InvalidPlacement> {
    // Unreserved characters (RFC 3986, section 2.3) are compared without decoding.
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if (1..=NAME_MAX_BYTES).contains(&name.len()) && name.bytes().all(is_unreserved) {
        Ok(name.to_owned())
    } else {
        Err(InvalidPlacement::Query {
            text: name.to_owned(),
        })
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Query(name) => write!(f, "query:{name}"),
            Self::Basic => f.write_str("basic"),
        }
    }
}

impl TryFrom<String> for Placement {
    type Error = InvalidPlacement;

    fn try_from(text: String) -> Result<Self, InvalidPlacement> {
        text.parse()
    }
}

impl From<Placement> for String {
    fn from(placement: Placement) -> Self {
        placement.to_string()
    }
}

impl Diagnose for InvalidPlacement {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Form { .. } | Self::Header { .. } | Self::Refused { .. } | Self::Query { .. } => {
                Diagnosis::new(ErrorKind::InvalidArgument)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_are_written_as_they_are_read() {
        for (text, canonical) in [
            ("default", "default"),
            ("basic", "basic"),
            ("header:X-Acme-Key", "header:x-acme-key"),
            ("query:api_key", "query:api_key"),
            ("query:Key", "query:Key"),
        ] {
            let placement: Placement = text.parse().unwrap();
            assert_eq!(placement.to_string(), canonical);
            let json = serde_json::to_string(&placement).unwrap();
            assert_eq!(serde_json::from_str::<Placement>(&json).unwrap(), placement);
        }
        assert!(Placement::default().is_default() && !Placement::Basic.is_default());
    }

    #[test]
    fn other_places_are_refused() {
        let long = format!("header:{}", "a".repeat(NAME_MAX_BYTES + 1));
        for text in [
            "",
            "header",
            "header:",
            "header:a b",
            "header:a:b",
            "header::authority",
            "header:a\r\n",
            "header:Host",
            "header:User-Agent",
            "header:Proxy-Authorization",
            "header:É",
            "query:",
            "query:a=b",
            "query:a&b",
            "query:a%20",
            "basic:",
            "Basic",
            "body",
            "cookie:a",
            &long,
        ] {
            text.parse::<Placement>().expect_err(text);
        }
    }
}
