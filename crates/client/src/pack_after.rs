use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The time since the last use of an image after which its layers are packed in the background.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum PackAfter {
    /// Layers are packed by `msb image pack` alone.
    #[default]
    Never,
    /// Layers are packed this long after the last use.
    Unused(Duration),
}

/// A text that is no such time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidPackAfter {
    text: String,
}

impl PackAfter {
    /// Returns the time; `None` for never.
    pub const fn duration(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::Unused(duration) => Some(duration),
        }
    }
}

impl FromStr for PackAfter {
    type Err = InvalidPackAfter;

    fn from_str(text: &str) -> Result<Self, InvalidPackAfter> {
        if text == "never" {
            return Ok(Self::Never);
        }
        let invalid = || InvalidPackAfter {
            text: text.to_owned(),
        };
        let (number, unit_s) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
            Some(number) => match text.as_bytes().last() {
                Some(b's') => (number, 1),
                Some(b'm') => (number, 60),
                Some(b'h') => (number, 3600),
                _ => (number, 86_400),
            },
            None => (text, 1),
        };
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = number.parse::<u64>().ok().filter(|_| is_number);
        let seconds = number.and_then(|number| number.checked_mul(unit_s));
        let seconds = seconds.ok_or_else(invalid)?;
        Ok(Self::Unused(Duration::from_secs(seconds)))
    }
}

impl fmt::Display for PackAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Unused(duration) => write!(f, "{}s", duration.as_secs()),
        }
    }
}

impl TryFrom<String> for PackAfter {
    type Error = InvalidPackAfter;

    fn try_from(text: String) -> Result<Self, InvalidPackAfter> {
        text.parse()
    }
}

impl From<PackAfter> for String {
    fn from(pack_after: PackAfter) -> Self {
        pack_after.to_string()
    }
}

impl fmt::Display for InvalidPackAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = crate::printable(&self.text);
        write!(
            f,
            "'{text}' is not a time: write never, or one such as 90m, 24h or 10d"
        )
    }
}

impl std::error::Error for InvalidPackAfter {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_and_written() {
        let read = |text: &str| text.parse::<PackAfter>().map(PackAfter::duration);
        let of_seconds = |seconds| Ok(Some(Duration::from_secs(seconds)));
        assert_eq!(read("never"), Ok(None));
        for (text, seconds) in [
            ("0", 0),
            ("90", 90),
            ("90s", 90),
            ("90m", 5400),
            ("24h", 86_400),
            ("10d", 864_000),
        ] {
            assert_eq!(read(text), of_seconds(seconds), "{text}");
            let written = text.parse::<PackAfter>().map(|parsed| parsed.to_string());
            assert_eq!(read(&written.expect("read")), of_seconds(seconds));
        }
        for text in [
            "",
            "h",
            "+1h",
            "1.5h",
            "1w",
            "-1",
            "1h30m",
            "99999999999999999999d",
        ] {
            let error = text.parse::<PackAfter>().expect_err(text);
            assert!(error.to_string().contains("never"), "{error}");
        }
    }
}
