use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};

use crate::console;

/// The word on the kernel's command line that holds the host's time, in seconds since the epoch.
/// The kernel passes words that it does not know to its first process as environment.
const EPOCH_VARIABLE: &str = "msb_epoch";
/// The largest difference from the host's time that is left alone, in seconds: it is the duration
/// of the boot.
const TOLERATED_S: u64 = 60;

/// Sets the guest's clock to the host's time if the two differ by more than `TOLERATED_S`.
pub(super) fn set_from_host() {
    let Some(host_s) = std::env::var(EPOCH_VARIABLE)
        .ok()
        .and_then(|text| text.parse().ok())
    else {
        return;
    };
    let guest_s = clock_gettime(ClockId::Realtime).tv_sec;
    if guest_s.abs_diff(host_s) <= TOLERATED_S {
        return;
    }
    let now = Timespec {
        tv_sec: host_s,
        tv_nsec: 0,
    };
    if let Err(error) = clock_settime(ClockId::Realtime, now) {
        console::log(&format!("cannot set the clock: {error}"));
    }
}
