use std::fmt;
use std::str::FromStr;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use serde::{Deserialize, Serialize};

use crate::shown::shown;

/// Longest method, in bytes. The longest of IANA's registry has 17.
const METHOD_MAX_BYTES: usize = 32;

/// Methods that no rule can allow: one begins a tunnel, the other returns the request's headers.
const REFUSED: [&str; 2] = ["CONNECT", "TRACE"];

/// A method of HTTP, such as `GET`. Methods are compared with regard to case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Method(String);

/// The text is not a method that a rule can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMethod {
    /// The text is not in capital letters.
    #[error("'{}' is not a method: write it in capital letters, such as GET or POST", shown(.text))]
    Form {
        /// The refused text.
        text: String,
    },
    /// The method is never allowed.
    #[error(
        "the method {text} is not supported: it opens a tunnel, or returns the headers of the request"
    )]
    Refused {
        /// The refused method.
        text: String,
    },
}

impl Method {
    /// Returns the method as a request has it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns true if a text consists of methods and commas alone, so that it is not a host or a path.
pub(crate) fn is_method_list(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || matches!(byte, b',' | b'-'))
}

impl FromStr for Method {
    type Err = InvalidMethod;

    fn from_str(text: &str) -> Result<Self, InvalidMethod> {
        let text = text.to_owned();
        if REFUSED.contains(&text.as_str()) {
            return Err(InvalidMethod::Refused { text });
        }
        let is_word = text
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'-');
        let begins_well = text.starts_with(|first: char| first.is_ascii_uppercase());
        if is_word && begins_well && text.len() <= METHOD_MAX_BYTES {
            Ok(Self(text))
        } else {
            Err(InvalidMethod::Form { text })
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Method {
    type Error = InvalidMethod;

    fn try_from(text: String) -> Result<Self, InvalidMethod> {
        text.parse()
    }
}

impl From<Method> for String {
    fn from(method: Method) -> Self {
        method.0
    }
}

impl Diagnose for InvalidMethod {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Form { .. } | Self::Refused { .. } => Diagnosis::new(ErrorKind::InvalidArgument),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_capital_letters() {
        for text in [
            "GET",
            "POST",
            "VERSION-CONTROL",
            &"A".repeat(METHOD_MAX_BYTES),
        ] {
            assert_eq!(text.parse::<Method>().unwrap().to_string(), text);
        }
        let too_long = "A".repeat(METHOD_MAX_BYTES + 1);
        for text in [
            "", "get", "Get", "G T", "-", "-GET", "GET\r", "G3T", "*", &too_long,
        ] {
            let refused = text.parse::<Method>();
            assert!(
                matches!(refused, Err(InvalidMethod::Form { .. })),
                "{text:?}: {refused:?}"
            );
        }
        for text in REFUSED {
            let refused = text.parse::<Method>();
            assert!(
                matches!(refused, Err(InvalidMethod::Refused { .. })),
                "{text}: {refused:?}"
            );
        }
    }
}
