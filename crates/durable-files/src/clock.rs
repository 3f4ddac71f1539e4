use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time in seconds since the epoch; 0 if the host's clock is before it.
pub fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// Returns the current time in nanoseconds since the epoch; 0 if the host's clock is before it.
pub fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}
