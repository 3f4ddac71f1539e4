use std::fmt;
use std::str::FromStr;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use serde::{Deserialize, Serialize};

/// Longest name of a secret, in bytes.
const NAME_MAX_BYTES: usize = 128;

/// The name of a secret, which is also the variable that holds its placeholder in the guest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretName(String);

/// The text is not the name of a secret.
///
/// The text is not part of the error: a value that was written in place of the name must not get into logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name of a secret consists of letters, digits and _, at most {NAME_MAX_BYTES}, and does not begin with a \
     digit"
)]
pub struct InvalidName;

impl SecretName {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let is_word = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let begins_well = !text.starts_with(|first: char| first.is_ascii_digit());
        if is_word && begins_well && (1..=NAME_MAX_BYTES).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidName)
        }
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SecretName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl From<SecretName> for String {
    fn from(name: SecretName) -> Self {
        name.0
    }
}

impl Diagnose for InvalidName {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(ErrorKind::InvalidArgument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_variables() {
        let longest = "a".repeat(NAME_MAX_BYTES);
        for text in ["A", "_", "gh_token", "OPENAI_API_KEY2", &longest] {
            let name: SecretName = text.parse().unwrap();
            assert_eq!((name.as_str(), name.to_string()), (text, text.to_owned()));
            let json = serde_json::to_string(&name).unwrap();
            assert_eq!(serde_json::from_str::<SecretName>(&json).unwrap(), name);
        }
        let too_long = "a".repeat(NAME_MAX_BYTES + 1);
        for text in ["", "2A", "A-B", "A B", "A=B", "É", "A\n", "A\0", &too_long] {
            assert_eq!(text.parse::<SecretName>(), Err(InvalidName), "{text:?}");
        }
    }

    #[test]
    fn a_refused_name_is_not_repeated() {
        let error = serde_json::from_str::<SecretName>("\"sk-live-123\"").unwrap_err();
        assert!(!error.to_string().contains("sk-live"), "{error}");
    }
}
