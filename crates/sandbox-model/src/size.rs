use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A size in bytes. Its text form is a number with `K`, `M`, `G` or `T` (powers of 1,024): `1.5G`.
///
/// ```
/// use msb_sandbox_model::Size;
///
/// assert_eq!("1.5G".parse::<Size>()?.bytes(), 3 << 29);
/// # Ok::<(), msb_sandbox_model::InvalidSize>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u64);

/// The text is not a [`Size`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSize {
    /// The text has no number, or an unknown unit.
    #[error("'{text}' is not a size: write one such as 512M or 1.5G")]
    Form {
        /// The text that was refused.
        text: String,
    },
    /// The size has more than 64 bits.
    #[error("'{text}' is too large")]
    TooLarge {
        /// The text that was refused.
        text: String,
    },
}

impl InvalidSize {
    /// Returns the text that was refused.
    pub fn text(&self) -> &str {
        match self {
            Self::Form { text } | Self::TooLarge { text } => text,
        }
    }
}

impl Size {
    /// Returns a size of this number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for Size {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<Self, InvalidSize> {
        parse(text).map(Self)
    }
}

fn parse(text: &str) -> Result<u64, InvalidSize> {
    let wrong = || InvalidSize::Form {
        text: text.to_owned(),
    };
    let lower = text.to_ascii_lowercase();
    let digits_end = lower
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits_end);
    let shift = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(wrong()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let fraction_bytes = match fraction {
        "" => 0,
        fraction => fraction_of(fraction, 1 << shift).ok_or_else(wrong)?,
    };
    whole
        .checked_mul(1 << shift)
        .and_then(|bytes| bytes.checked_add(fraction_bytes))
        .ok_or_else(|| InvalidSize::TooLarge {
            text: text.to_owned(),
        })
}

/// Returns the part of `unit_bytes` that decimal places stand for, rounded down. At most nine
/// places are used.
fn fraction_of(places: &str, unit_bytes: u64) -> Option<u64> {
    let places = places.get(..places.len().min(9))?;
    let numerator: u128 = places.parse().ok()?;
    let denominator = 10_u128.pow(u32::try_from(places.len()).ok()?);
    u64::try_from(u128::from(unit_bytes) * numerator / denominator).ok()
}

impl Size {
    /// Returns the size as docker shows it: decimal units, three digits.
    ///
    /// ```
    /// assert_eq!(msb_sandbox_model::Size::new(1_500).human(), "1.5kB");
    /// ```
    pub fn human(self) -> String {
        const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
        let bytes = self.bytes();
        let mut divisor = 1_u64;
        let mut unit = 0;
        while bytes / divisor >= 1000 && unit + 1 < UNITS.len() {
            divisor *= 1000;
            unit += 1;
        }
        let whole = bytes / divisor;
        let tenth = bytes % divisor * 10 / divisor;
        if unit == 0 || whole >= 100 {
            format!("{whole}{}", UNITS[unit])
        } else {
            format!("{whole}.{tenth}{}", UNITS[unit])
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl From<u64> for Size {
    fn from(bytes: u64) -> Self {
        Self(bytes)
    }
}

/// Writes the number of bytes.
impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

/// Reads a number of bytes, or text such as `1.5G`.
impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrText)
    }
}

struct NumberOrText;

impl Visitor<'_> for NumberOrText {
    type Value = Size;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number from 0 or text")
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Size, E> {
        Ok(Size(bytes))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Size {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["integer", "string"], "minimum": 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse("16M"), Ok(16 << 20));
        assert_eq!(parse("8GiB"), Ok(8 << 30));
        assert_eq!(parse("1t"), Ok(1 << 40));
        assert_eq!(parse("4096"), Ok(4096));
        assert_eq!(parse("1.5g"), Ok(3 << 29));
        assert_eq!(parse("0.25M"), Ok(1 << 18));
        assert_eq!(parse("1.9999999999999k"), Ok(2047));
        for text in [
            "1.g.",
            ".5G",
            "1.5.5G",
            "1,5G",
            "-1G",
            "1.xG",
            "16777216.5T",
            "1x",
            "x",
            "",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(
            serde_json::from_str::<Size>("\"1K\"").expect("read"),
            Size(1024)
        );
        assert_eq!(serde_json::from_str::<Size>("7").expect("read"), Size(7));
        assert!(serde_json::from_str::<Size>("-1").is_err());
    }
}
