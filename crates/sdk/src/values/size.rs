use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{NumberOrText, number_or_text};
use crate::{Error, ErrorKind};

/// A size in bytes. Its text form is a number with `K`, `M`, `G` or `T` (powers of 1,024): `1.5G`.
///
/// ```
/// use msb_sdk::Size;
///
/// assert_eq!("1.5G".parse::<Size>()?.bytes(), 3 << 29);
/// # Ok::<(), msb_sdk::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u64);

impl Size {
    /// Returns a size of so many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for Size {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).map(Self).map_err(|message| {
            Error::new(ErrorKind::InvalidArgument, message).with_detail("value", text)
        })
    }
}

fn parse(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is not a size: write one such as 512M or 1.5G");
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
        .ok_or_else(|| format!("'{text}' is too large"))
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
    /// assert_eq!(msb_sdk::Size::new(1_500).human(), "1.5kB");
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
        match number_or_text(deserializer)? {
            NumberOrText::Number(bytes) => Ok(Self(bytes)),
            NumberOrText::Text(text) => parse(&text).map(Self).map_err(serde::de::Error::custom),
        }
    }
}

/// A size as callers give it: bytes, or text.
pub trait IntoSize {
    /// Returns the size.
    ///
    /// # Errors
    /// Text that is not a size.
    fn into_size(self) -> Result<Size, Error>;
}

impl IntoSize for Size {
    fn into_size(self) -> Result<Size, Error> {
        Ok(self)
    }
}

impl IntoSize for u64 {
    fn into_size(self) -> Result<Size, Error> {
        Ok(Size(self))
    }
}

impl IntoSize for &str {
    fn into_size(self) -> Result<Size, Error> {
        self.parse()
    }
}

impl IntoSize for &String {
    fn into_size(self) -> Result<Size, Error> {
        self.parse()
    }
}

impl IntoSize for String {
    fn into_size(self) -> Result<Size, Error> {
        self.parse()
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
