use diagnosis::{Diagnose, Diagnosis, ErrorKind};

use crate::shown::shown;

/// Shortest time between two reads of a source, in seconds.
pub const EVERY_MIN_S: u64 = 1;
/// Longest time between two reads of a source, in seconds: 31 days.
pub const EVERY_MAX_S: u64 = 31 * 24 * 60 * 60;

/// The units of times, the largest first, with their lengths in seconds.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// The text is not a time between two reads of a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{}' is not a time from 1s to 31d: write one such as 90s, 50m or 2h30m", shown(.text))]
pub struct InvalidInterval {
    /// The refused text.
    pub text: String,
}

/// Parses a number of seconds, or numbers with a unit each: `50m`, `2h30m`.
pub(crate) fn parse(text: &str) -> Result<u64, InvalidInterval> {
    seconds(text)
        .filter(|seconds| (EVERY_MIN_S..=EVERY_MAX_S).contains(seconds))
        .ok_or_else(|| InvalidInterval {
            text: text.to_owned(),
        })
}

fn seconds(text: &str) -> Option<u64> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    let (mut sum, mut rest) = (0_u64, text);
    while !rest.is_empty() {
        let (number, behind) = rest.split_at_checked(rest.find(|c: char| !c.is_ascii_digit())?)?;
        let unit = behind.chars().next()?;
        let (_, unit_s) = UNITS.iter().find(|(letter, _)| *letter == unit)?;
        let part = number.parse::<u64>().ok()?.checked_mul(*unit_s)?;
        sum = sum.checked_add(part)?;
        rest = behind.get(unit.len_utf8()..)?;
    }
    Some(sum)
}

/// Returns a time in the form in which it is read: `2h30m`.
pub(crate) fn text(seconds: u64) -> String {
    let (mut text, mut rest) = (String::new(), seconds);
    for (letter, unit_s) in UNITS {
        let count = rest / unit_s;
        rest %= unit_s;
        if count > 0 {
            text.push_str(&format!("{count}{letter}"));
        }
    }
    if text.is_empty() {
        text.push_str("0s");
    }
    text
}

impl Diagnose for InvalidInterval {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(ErrorKind::InvalidArgument).detail("value", &self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for (read, written, expected_s) in [
            ("90", "1m30s", 90),
            ("50m", "50m", 3_000),
            ("2h30m", "2h30m", 9_000),
            ("1d", "1d", 86_400),
            ("1s", "1s", 1),
            ("31d", "31d", EVERY_MAX_S),
        ] {
            assert_eq!(parse(read), Ok(expected_s));
            assert_eq!(text(expected_s), written);
            assert_eq!(parse(written), Ok(expected_s));
        }
        for refused in [
            "",
            "0",
            "0s",
            "m",
            "5x",
            "5é",
            "1h30",
            "-1s",
            "+5",
            "1 m",
            "32d",
            "99999999999999999999d",
        ] {
            parse(refused).expect_err(refused);
        }
    }
}
