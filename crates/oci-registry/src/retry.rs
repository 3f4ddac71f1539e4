//! Delays and limits of retries.

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
        None => most.mul_f64(fastrand::f64()),
    }
}

/// Returns the delay in a `Retry-After` header, which is a number of seconds or an HTTP date
/// (RFC 9110, section 5.6.7); `None` if it cannot be parsed.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let then = httpdate::parse_http_date(value).ok()?;
    Some(then.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_ask_for_seconds_or_until_a_date() {
        let seconds = Duration::from_secs;
        for (date, since_epoch_s) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
            // The two obsolete forms, which a client has to accept.
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ] {
            let wait = retry_after(date, SystemTime::UNIX_EPOCH);
            assert_eq!(wait, Some(seconds(since_epoch_s)), "{date}");
        }
        let now = SystemTime::UNIX_EPOCH + seconds(784_111_770);
        for (value, wait) in [
            ("0", Some(seconds(0))),
            (" 7 ", Some(seconds(7))),
            ("99999999999999999999999", Some(seconds(u64::MAX))),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(seconds(7))),
            ("Sat, 06 Nov 1993 08:49:37 GMT", Some(seconds(0))),
            // That day was a Saturday.
            ("Sun, 06 Nov 1993 08:49:37 GMT", None),
            ("Sun, 06 Nov 99999 08:49:37 GMT", None),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 24:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37", None),
            ("Sun, 06 Nov 1994 08:49:37 G\u{e4}T", None),
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
