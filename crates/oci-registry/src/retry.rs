//! Delays and limits of retries.

use std::hash::{BuildHasher as _, Hasher as _};
use std::time::{Duration, SystemTime};

use super::error::RegistryError;
use super::limits::RegistryLimits;

/// Number of failures in a row.
#[derive(Debug, Default)]
pub(super) struct Failures {
    count: u32,
    stalls: u32,
}

impl Failures {
    /// Counts a failure after which a retry may help; `came_bytes` bytes arrived before it. Returns
    /// the number of earlier failures; `None` if there were too many.
    pub(super) fn add(
        &mut self,
        limits: &RegistryLimits,
        error: &RegistryError,
        came_bytes: u64,
    ) -> Option<u32> {
        let is_stall = error.is_stall();
        // A slow response is not better for the few bytes that it delivers.
        let enough_bytes = if is_stall { limits.pace_bytes } else { 1 };
        if came_bytes >= enough_bytes {
            *self = Self::default();
        } else {
            self.count += 1;
            self.stalls += u32::from(is_stall);
        }
        let is_enough = self.count >= limits.attempts || self.stalls >= limits.stalls;
        (!is_enough).then(|| self.count.saturating_sub(1))
    }
}

/// Returns the delay after `failures` failures and one more. It is the delay that the registry asks
/// for, or else a random part of a time that doubles, so that clients that failed together do not
/// retry together.
pub(super) fn pause(
    limits: &RegistryLimits,
    failures: u32,
    retry_after: Option<Duration>,
) -> Duration {
    let most = limits
        .first_pause
        .saturating_mul(2_u32.saturating_pow(failures.min(16)))
        .min(limits.pause);
    match retry_after {
        Some(wanted) => wanted.min(limits.pause),
        None => most.mul_f64(fraction()),
    }
}

/// Returns a random number from 0 to 1.
fn fraction() -> f64 {
    let random = std::hash::RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX)
}

/// Returns the delay in a `Retry-After` header, which is a number of seconds or a date; `None` if
/// it cannot be parsed.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(http_date(value)?);
    Some(then.duration_since(now).unwrap_or_default())
}

/// Parses an HTTP date in the only form that is still sent, `Sun, 06 Nov 1994 08:49:37 GMT`, to
/// seconds since the epoch; `None` if it has another form.
fn http_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (_, date) = text.split_once(", ")?;
    let words: Vec<&str> = date.split(' ').collect();
    let [day, month, year, time, "GMT"] = words[..] else {
        return None;
    };
    let month = MONTHS.iter().position(|name| *name == month)?;
    let (day, year): (u64, u64) = (day.parse().ok()?, year.parse().ok()?);
    let clock: Vec<u64> = time
        .split(':')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let [hour, minute, second] = clock[..] else {
        return None;
    };
    let in_range = (1970..10_000).contains(&year)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61;
    if !in_range {
        return None;
    }
    // Years begin in March here, so that the leap day is the last day of a year.
    let shifted = if month < 2 { year - 1 } else { year };
    let month_from_march = (u64::try_from(month).ok()? + 10) % 12;
    let days = 365 * shifted + shifted / 4 - shifted / 100
        + shifted / 400
        + (153 * month_from_march + 2) / 5
        + day
        - 1;
    let days_since_1970 = days.checked_sub(719_468)?;
    Some(days_since_1970 * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_ask_for_seconds_or_until_a_date() {
        let seconds = Duration::from_secs;
        assert_eq!(
            http_date("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(784_111_777)
        );
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(
            http_date("Thu, 29 Feb 2024 23:59:59 GMT"),
            Some(1_709_251_199)
        );
        let now = SystemTime::UNIX_EPOCH + seconds(784_111_770);
        for (value, wait) in [
            ("0", Some(seconds(0))),
            (" 7 ", Some(seconds(7))),
            ("99999999999999999999999", Some(seconds(u64::MAX))),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(seconds(7))),
            ("Sun, 06 Nov 1993 08:49:37 GMT", Some(seconds(0))),
            ("Sun, 06 Nov 99999 08:49:37 GMT", None),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
            ("-1", None),
            ("", None),
            ("soon", None),
        ] {
            assert_eq!(retry_after(value, now), wait, "{value}");
        }
    }

    #[test]
    fn pauses_double_and_are_capped() {
        let limits = RegistryLimits::default();
        for failures in [0, 1, 5, 40, u32::MAX] {
            let most = limits.first_pause * 2_u32.pow(failures.min(16));
            assert!(pause(&limits, failures, None) <= most.min(limits.pause));
        }
        let day = Some(Duration::from_secs(86_400));
        assert_eq!(pause(&limits, 0, day), limits.pause);
        let pauses: Vec<Duration> = (0..8).map(|_| pause(&limits, 3, None)).collect();
        assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
    }
}
