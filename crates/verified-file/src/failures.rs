use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::error::ReadError;

/// Most blocks of a file that are reported, because a guest decides what is read.
pub const FAILURES_MAX: usize = 64;

/// A callback that writes a line to a log.
type Log = Box<dyn Fn(&ReadError) + Send + Sync>;

/// Reports of blocks that do not verify, each once.
#[derive(Default)]
pub(crate) struct Failures {
    log: Option<Log>,
    /// Offsets of the blocks that were reported, in bytes.
    reported: Mutex<BTreeSet<u64>>,
}

impl Failures {
    pub(crate) fn new(log: Log) -> Self {
        Self {
            log: Some(log),
            reported: Mutex::default(),
        }
    }

    /// Reports a block, unless it was reported or [`FAILURES_MAX`] others were.
    pub(crate) fn report(&self, failure: &ReadError) {
        let reported = self.reported.lock();
        let mut reported = reported.unwrap_or_else(PoisonError::into_inner);
        let has_room = reported.len() < FAILURES_MAX;
        if has_room
            && reported.insert(failure.offset_bytes())
            && let Some(log) = &self.log
        {
            log(failure);
        }
    }
}
