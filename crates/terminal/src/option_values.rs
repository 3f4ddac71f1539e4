//! Option values with a syntax of their own: times, labels, policies.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A time span in whole seconds, as `90`, `90s` or `2h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duration(pub u64);

impl FromStr for Duration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(seconds) = text.parse() {
            return Ok(Self(seconds));
        }
        let wrong = || format!("'{text}' is not a time span: write one such as 90s or 2h30m");
        let duration: SignedDuration = text.parse().map_err(|_| wrong())?;
        let seconds = u64::try_from(duration.as_secs()).map_err(|_| wrong())?;
        if seconds == 0 {
            return Err(format!("'{text}' is too short: the minimum is 1s"));
        }
        Ok(Self(seconds))
    }
}

impl fmt::Display for Duration {
    /// Writes the time span in the form that users type, in one word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = i64::try_from(self.0).unwrap_or(i64::MAX);
        let text = format!("{:#}", SignedDuration::from_secs(seconds));
        f.write_str(&text.replace(' ', ""))
    }
}

/// A point in time, in UTC if it has no zone. It is written as `10m` (ago), `2026-11-21`,
/// `2026-11-21T10:00:00Z` or seconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(pub Timestamp);

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds = || {
            text.parse()
                .ok()
                .and_then(|seconds| Timestamp::from_second(seconds).ok())
        };
        let zoned = || text.parse::<Timestamp>().ok();
        let in_utc = || {
            let time: DateTime = text.parse().ok()?;
            TimeZone::UTC.to_timestamp(time).ok()
        };
        let ago = || {
            let span: SignedDuration = text
                .parse()
                .ok()
                .filter(|span| *span >= SignedDuration::ZERO)?;
            Timestamp::now().checked_sub(span).ok()
        };
        let moment = seconds().or_else(zoned).or_else(in_utc).or_else(ago);
        moment
            .map(Self)
            .ok_or_else(|| "write 10m, 2h, 2026-11-21 or 2026-11-21T10:00:00Z".to_owned())
    }
}

/// The number of last lines that are shown; `None` for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail(pub Option<usize>);

impl FromStr for Tail {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            // Docker accepts -1, too.
            ("all" | "-1", _) => Ok(Self(None)),
            (_, Ok(lines)) => Ok(Self(Some(lines))),
            (_, Err(_)) => Err("write a number of lines, or all".to_owned()),
        }
    }
}

/// A label `KEY=VALUE`, or `KEY` alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The text before the first `=`, or all of it.
    pub key: String,
    /// The text after the first `=`; `None` if there is none.
    pub value: Option<String>,
}

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (text, None),
        };
        if key.is_empty() {
            return Err(format!("'{text}' has no key: write KEY=VALUE"));
        }
        Ok(Self {
            key: key.to_owned(),
            value,
        })
    }
}

/// A restart policy: `no`, `on-failure[:RETRIES]`, `always`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart(pub msb_sdk::Restart);

impl FromStr for Restart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("'{text}' is not a restart policy: write no, on-failure[:RETRIES] or always")
        };
        let policy = match text.split_once(':') {
            None if text == "no" => msb_sdk::Restart::No,
            // No daemon starts sandboxes after the host's own start, so both policies are the same.
            None if text == "always" || text == "unless-stopped" => msb_sdk::Restart::Always,
            None if text == "on-failure" => msb_sdk::Restart::OnFailure { retries_max: None },
            Some(("on-failure", retries)) => {
                let retries: u32 = retries.parse().map_err(|_| wrong())?;
                msb_sdk::Restart::OnFailure {
                    retries_max: NonZeroU32::new(retries),
                }
            }
            _ => return Err(wrong()),
        };
        Ok(Self(policy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_time_are_read() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("2h30m", 9000), ("1m 5s", 65)] {
            assert_eq!(text.parse(), Ok(Duration(seconds)));
        }
        for text in ["", "x", "-5s", "1ms", "h"] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }

    #[test]
    fn points_in_time_are_read() {
        for (text, second) in [
            ("1763719200", 1_763_719_200),
            ("2025-11-21T10:00:00Z", 1_763_719_200),
            ("2025-11-21T12:00:00+02:00", 1_763_719_200),
            ("2025-11-21T10:00:00", 1_763_719_200),
            ("2025-11-21T10:00", 1_763_719_200),
            ("2025-11-21", 1_763_683_200),
        ] {
            let moment = Timestamp::from_second(second).expect("a time");
            assert_eq!(text.parse(), Ok(Moment(moment)), "{text}");
        }
        let ago: Moment = "10m".parse().expect("a time");
        let passed = Timestamp::now().duration_since(ago.0);
        assert!((600..660).contains(&passed.as_secs()), "{passed:?}");
        for text in ["", "soon", "-5m", "2025-13-01", "99999999999999"] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }

    #[test]
    fn tails_are_read() {
        assert_eq!(
            ("all".parse(), "-1".parse()),
            (Ok(Tail(None)), Ok(Tail(None)))
        );
        assert_eq!("0".parse(), Ok(Tail(Some(0))));
        assert!("-2".parse::<Tail>().is_err() && "x".parse::<Tail>().is_err());
    }

    #[test]
    fn spans_of_time_are_written_as_they_are_read() {
        for (seconds, text) in [(2, "2s"), (90, "1m30s"), (9000, "2h30m"), (0, "0s")] {
            assert_eq!(Duration(seconds).to_string(), text);
        }
        assert_eq!("2h30m".parse(), Ok(Duration(9000)));
    }

    #[test]
    fn policies_are_read() {
        let limited = msb_sdk::Restart::OnFailure {
            retries_max: NonZeroU32::new(3),
        };
        assert_eq!("on-failure:3".parse(), Ok(Restart(limited)));
        assert_eq!("always".parse(), Ok(Restart(msb_sdk::Restart::Always)));
        assert!("never".parse::<Restart>().is_err());
        assert!("on-failure:x".parse::<Restart>().is_err());
    }
}
