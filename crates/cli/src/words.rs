//! What users type that is more than a word: durations, labels, policies.

use std::num::NonZeroU32;
use std::str::FromStr;

use jiff::SignedDuration;
use msb_runtime::RestartPolicy;

/// A time span in whole seconds, as `90`, `90s` or `2h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Duration(pub(crate) u64);

impl FromStr for Duration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(seconds) = text.parse() {
            return Ok(Self(seconds));
        }
        let wrong = || format!("'{text}' is not a time span; write 90s or 2h30m");
        let duration: SignedDuration = text.parse().map_err(|_| wrong())?;
        let seconds = u64::try_from(duration.as_secs()).map_err(|_| wrong())?;
        if seconds == 0 {
            return Err(format!("'{text}' is less than a second"));
        }
        Ok(Self(seconds))
    }
}

/// `KEY=VALUE`, or `KEY` alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) key: String,
    pub(crate) value: Option<String>,
}

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (text, None),
        };
        if key.is_empty() {
            return Err(format!("'{text}' has no key; write KEY=VALUE"));
        }
        Ok(Self {
            key: key.to_owned(),
            value,
        })
    }
}

/// `no`, `on-failure[:RETRIES]`, `always`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Restart(pub(crate) RestartPolicy);

impl FromStr for Restart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is none of no, on-failure[:RETRIES], always");
        let policy = match text.split_once(':') {
            None if text == "no" => RestartPolicy::No,
            // No daemon starts anything by itself after the host's own start.
            None if text == "always" || text == "unless-stopped" => RestartPolicy::Always,
            None if text == "on-failure" => RestartPolicy::OnFailure { retries_max: None },
            Some(("on-failure", retries)) => {
                let retries: u32 = retries.parse().map_err(|_| wrong())?;
                RestartPolicy::OnFailure {
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
    fn policies_are_read() {
        let limited = RestartPolicy::OnFailure {
            retries_max: NonZeroU32::new(3),
        };
        assert_eq!("on-failure:3".parse(), Ok(Restart(limited)));
        assert_eq!("always".parse(), Ok(Restart(RestartPolicy::Always)));
        assert!("never".parse::<Restart>().is_err());
        assert!("on-failure:x".parse::<Restart>().is_err());
    }
}
