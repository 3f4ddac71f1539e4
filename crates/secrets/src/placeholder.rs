use std::fmt;
use std::io;
use std::str::FromStr;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

/// The beginning of a placeholder whose secret states none.
const PREFIX_DEFAULT: &str = "msb-secret-";
/// Longest beginning of a placeholder, in bytes.
const PREFIX_MAX_BYTES: usize = 64;
/// Random bytes of a placeholder, each two hexadecimal digits.
const RANDOM_BYTES: usize = 20;

/// The text that a guest has in place of a secret's value: a prefix and 40 hexadecimal digits.
///
/// It is not secret: it is worth nothing outside of its sandbox.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Placeholder(String);

/// The text cannot be a placeholder, or its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPlaceholder {
    /// The beginning has other characters, or too many.
    #[error(
        "the prefix of a placeholder has letters, digits, -, _ and ., at most {PREFIX_MAX_BYTES}, such as ghp_"
    )]
    Prefix,
    /// The text does not end with the random digits.
    #[error("the placeholder does not end with 40 hexadecimal digits")]
    Digits,
}

/// There is no new placeholder.
#[derive(Debug, thiserror::Error)]
pub enum PlaceholderError {
    /// The beginning cannot be one.
    #[error(transparent)]
    Prefix(#[from] InvalidPlaceholder),
    /// The kernel of the host returns no random bytes.
    #[error("cannot get random bytes for a placeholder")]
    Randomness(#[source] io::Error),
}

impl Placeholder {
    /// Returns a new placeholder, which begins with `prefix`, or with `msb-secret-`.
    ///
    /// # Errors
    /// A prefix with other characters than letters, digits, `-`, `_` and `.`, and a host without
    /// randomness.
    pub fn random(prefix: Option<&str>) -> Result<Self, PlaceholderError> {
        let prefix = prefix.unwrap_or(PREFIX_DEFAULT);
        check_prefix(prefix)?;
        let mut bytes = [0_u8; RANDOM_BYTES];
        let filled = getrandom(&mut bytes, GetRandomFlags::empty());
        match filled.map_err(|error| PlaceholderError::Randomness(error.into()))? {
            RANDOM_BYTES => Ok(Self(format!("{prefix}{}", hex::encode(bytes)))),
            _ => Err(PlaceholderError::Randomness(
                io::ErrorKind::UnexpectedEof.into(),
            )),
        }
    }

    /// Returns the placeholder as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Checks the beginning of a placeholder.
pub(crate) fn check_prefix(prefix: &str) -> Result<(), InvalidPlaceholder> {
    // These characters are the same in headers, in queries and in files of variables.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=PREFIX_MAX_BYTES).contains(&prefix.len()) && prefix.bytes().all(is_plain) {
        Ok(())
    } else {
        Err(InvalidPlaceholder::Prefix)
    }
}

impl FromStr for Placeholder {
    type Err = InvalidPlaceholder;

    fn from_str(text: &str) -> Result<Self, InvalidPlaceholder> {
        let split = text.len().checked_sub(2 * RANDOM_BYTES);
        let (prefix, digits) = split
            .and_then(|split| text.split_at_checked(split))
            .ok_or(InvalidPlaceholder::Digits)?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if !digits.bytes().all(is_digit) {
            return Err(InvalidPlaceholder::Digits);
        }
        check_prefix(prefix)?;
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Placeholder {
    type Error = InvalidPlaceholder;

    fn try_from(text: String) -> Result<Self, InvalidPlaceholder> {
        text.parse()
    }
}

impl From<Placeholder> for String {
    fn from(placeholder: Placeholder) -> Self {
        placeholder.0
    }
}

impl Diagnose for InvalidPlaceholder {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Prefix | Self::Digits => Diagnosis::new(ErrorKind::InvalidArgument),
        }
    }
}

impl Diagnose for PlaceholderError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Prefix(source) => source.diagnosis(),
            Self::Randomness(source) => source.diagnosis(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_is_random_behind_its_prefix() {
        let default = Placeholder::random(None).unwrap();
        assert!(default.as_str().starts_with("msb-secret-"));
        assert_eq!(default.as_str().len(), "msb-secret-".len() + 40);
        assert_ne!(default, Placeholder::random(None).unwrap());
        let token = Placeholder::random(Some("ghp_")).unwrap();
        assert!(token.as_str().starts_with("ghp_") && token.as_str().len() == 44);
        for placeholder in [default, token] {
            let json = serde_json::to_string(&placeholder).unwrap();
            assert_eq!(
                serde_json::from_str::<Placeholder>(&json).unwrap(),
                placeholder
            );
        }
    }

    #[test]
    fn prefixes_with_other_characters_are_refused() {
        let longest = "a".repeat(PREFIX_MAX_BYTES);
        Placeholder::random(Some(&longest)).unwrap();
        let too_long = format!("{longest}a");
        for prefix in ["", "a b", "a\"", "a:", "a\n", "é", &too_long] {
            let refused = Placeholder::random(Some(prefix));
            assert!(
                matches!(refused, Err(PlaceholderError::Prefix(_))),
                "{prefix:?}"
            );
        }
    }

    #[test]
    fn texts_without_digits_are_refused() {
        let digits = "0123456789abcdef0123456789abcdef01234567";
        assert!(format!("p-{digits}").parse::<Placeholder>().is_ok());
        for text in [
            String::new(),
            digits.to_owned(),
            format!("p{}", digits.to_uppercase()),
            format!("p{digits}\n"),
            format!("é{}", &digits[1..]),
            "p".repeat(50),
        ] {
            text.parse::<Placeholder>().expect_err(&text);
        }
    }
}
