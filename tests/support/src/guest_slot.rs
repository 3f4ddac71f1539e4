use std::fs::File;
use std::num::NonZero;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use test_fixtures::lock;

use crate::settings;

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// One of the slots for tests whose guests run.
/// An emulated guest keeps a processor busy, and guests that wait for a processor answer too late.
///
/// The slots are lock files, so that they count across all test programs that run at once.
#[derive(Debug)]
pub struct GuestSlot(#[expect(dead_code, reason = "an open file holds the lock")] File);

impl GuestSlot {
    /// Waits for a slot.
    ///
    /// # Errors
    /// If a lock file cannot be made, or [`settings::GUESTS`] is not a number.
    pub fn acquire() -> Result<Self> {
        let processors = || thread::available_parallelism().map_or(1, NonZero::get);
        let slots = settings::parsed(settings::GUESTS)?.unwrap_or_else(processors);
        loop {
            for slot in 0..slots.max(1) {
                if let Some(file) = lock::try_hold(&format!("guest-{slot}"))? {
                    return Ok(Self(file));
                }
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}
