use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time in seconds since the epoch; 0 if the host's clock is before it.
pub fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
