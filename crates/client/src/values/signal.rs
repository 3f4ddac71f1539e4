use msb_runtime::StopSignal;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{NumberOrText, number_or_text};
use crate::Error;

/// The highest number of a signal on Linux.
const SIGNAL_MAX: i32 = 64;

/// A signal, by its name or its number on Linux.
///
/// ```
/// use msb_sdk::Signal;
///
/// assert_eq!(Signal::try_from("SIGTERM")?.number(), 15);
/// assert_eq!(Signal::try_from(9)?.number(), 9);
/// # Ok::<(), msb_sdk::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal(i32);

impl Signal {
    /// SIGKILL.
    pub const KILL: Self = Self(9);
    /// SIGTERM.
    pub const TERM: Self = Self(15);
    /// SIGINT.
    pub const INT: Self = Self(2);

    /// Returns the signal's number on Linux.
    pub const fn number(self) -> i32 {
        self.0
    }
}

impl TryFrom<i32> for Signal {
    type Error = Error;

    fn try_from(number: i32) -> Result<Self, Error> {
        if (1..=SIGNAL_MAX).contains(&number) {
            return Ok(Self(number));
        }
        Err(Error::invalid(format!(
            "{number} is not a signal: 1 to {SIGNAL_MAX}"
        )))
    }
}

impl TryFrom<&str> for Signal {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self, Error> {
        if let Ok(number) = text.parse::<i32>() {
            return Self::try_from(number);
        }
        let signal: StopSignal = text.parse()?;
        Ok(Self(signal.number()))
    }
}

impl Serialize for Signal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(self.0)
    }
}

/// Reads a number, or a name.
impl<'de> Deserialize<'de> for Signal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let signal = match number_or_text(deserializer)? {
            NumberOrText::Number(number) => Self::try_from(i32::try_from(number).unwrap_or(0)),
            NumberOrText::Text(text) => Self::try_from(text.as_str()),
        };
        signal.map_err(serde::de::Error::custom)
    }
}
