use std::fmt;
use std::sync::Arc;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

#[cfg(test)]
mod tests;

/// Shortest value of a secret, in bytes: an answer that holds a shorter text may hold it by chance.
pub const VALUE_MIN_BYTES: usize = 8;
/// Longest value of a secret, in bytes.
pub const VALUE_MAX_BYTES: usize = 8 << 10;

/// The value of a secret. Its memory is overwritten when the last copy is dropped.
///
/// It is one line of text that can be the whole value of a header. Neither `Debug` nor an error shows it,
/// and it cannot be serialised:
///
/// ```compile_fail
/// fn written<T: serde::Serialize>() {}
/// written::<msb_secrets::SecretValue>();
/// ```
#[derive(Clone)]
pub struct SecretValue(Arc<Zeroizing<String>>);

/// The text cannot be the value of a secret. The text is not part of the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidValue {
    /// The value has no characters.
    #[error("the value is empty")]
    Empty,
    /// The value is too short to be told from other text.
    #[error(
        "the value has fewer than {VALUE_MIN_BYTES} bytes: answers of hosts hold so short a text by chance, and would \
         be withheld"
    )]
    TooShort,
    /// The value is too long.
    #[error("the value has more than {VALUE_MAX_BYTES} bytes, which is the limit")]
    TooLong,
    /// The value has a line break or another control character.
    #[error("the value has more than one line, or a control character")]
    Control,
    /// The value begins or ends with a space, which HTTP would remove.
    #[error("the value begins or ends with a space")]
    Space,
    /// The value is not UTF-8.
    #[error("the value is not UTF-8 text")]
    NotText,
}

impl SecretValue {
    /// Checks a value.
    ///
    /// # Errors
    /// A value that is empty, shorter than [`VALUE_MIN_BYTES`] or longer than [`VALUE_MAX_BYTES`], not one
    /// line, or that begins or ends with a space.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidValue> {
        let text = Zeroizing::new(text.into());
        check(&text)?;
        Ok(Self(Arc::new(text)))
    }

    /// Returns the value itself, which must not get into files, messages or arguments of programs.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

fn check(text: &str) -> Result<(), InvalidValue> {
    if text.is_empty() {
        return Err(InvalidValue::Empty);
    }
    if text.len() > VALUE_MAX_BYTES {
        return Err(InvalidValue::TooLong);
    }
    if text.chars().any(char::is_control) {
        return Err(InvalidValue::Control);
    }
    if text.starts_with(' ') || text.ends_with(' ') {
        return Err(InvalidValue::Space);
    }
    if text.len() < VALUE_MIN_BYTES {
        return Err(InvalidValue::TooShort);
    }
    Ok(())
}

/// Compares all bytes, so that the time tells nothing but the length.
impl PartialEq for SecretValue {
    fn eq(&self, other: &Self) -> bool {
        let (left, right) = (self.expose().as_bytes(), other.expose().as_bytes());
        let differences = left
            .iter()
            .zip(right)
            .fold(0_u8, |all, (left, right)| all | (left ^ right));
        left.len() == right.len() && differences == 0
    }
}

impl Eq for SecretValue {}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl<'de> Deserialize<'de> for SecretValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A deserializer of strings would refuse a number by itself, and show it.
        deserializer.deserialize_any(ValueVisitor)
    }
}

/// Takes texts. The errors of `serde` for another type would show its value, so each is refused here.
struct ValueVisitor;

/// The refusal of a value of another type than text.
const NOT_A_TEXT: &str = "the value of a secret must be a string";

impl Visitor<'_> for ValueVisitor {
    type Value = SecretValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value of a secret as a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<SecretValue, E> {
        SecretValue::new(text).map_err(E::custom)
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<SecretValue, E> {
        SecretValue::new(text).map_err(E::custom)
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<SecretValue, E> {
        Err(E::custom(NOT_A_TEXT))
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<SecretValue, E> {
        Err(E::custom(NOT_A_TEXT))
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<SecretValue, E> {
        Err(E::custom(NOT_A_TEXT))
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<SecretValue, E> {
        Err(E::custom(NOT_A_TEXT))
    }
}

impl Diagnose for InvalidValue {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Empty
            | Self::TooShort
            | Self::TooLong
            | Self::Control
            | Self::Space
            | Self::NotText => Diagnosis::new(ErrorKind::InvalidArgument),
        }
    }
}
