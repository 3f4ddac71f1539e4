//! The times at which sources are read.

use std::time::{Duration, Instant};

use crate::secret::Secret;

/// Shortest time between the starts of two reads, of whichever secrets.
const READ_INTERVAL: Duration = Duration::from_secs(1);
/// Longest time between a failed read and the next one.
const RETRY_MAX: Duration = Duration::from_secs(60);
/// Longest time that a value is read before the last one expires: the limit of a command.
const LEAD_MAX: Duration = crate::resolve::SOURCE_TIMEOUT;

/// The secrets that are read again, each with the time of its next read.
#[derive(Debug)]
pub(super) struct Schedule<'a> {
    tasks: Vec<Task<'a>>,
    /// The time before which no source is read.
    earliest: Instant,
}

#[derive(Debug)]
struct Task<'a> {
    secret: &'a Secret,
    every: Duration,
    due: Instant,
    /// Reads that have failed since the last success.
    failures: u32,
}

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The network process has the new value.
    Sent,
    /// There is no new value.
    Failed,
    /// The value was removed from the sandbox.
    Removed,
}

impl<'a> Schedule<'a> {
    /// Returns the schedule of secrets whose values were sent at `now`.
    pub(super) fn new(secrets: &'a [Secret], now: Instant) -> Self {
        let task = |secret: &'a Secret| {
            let every_s = secret.every_s.filter(|_| secret.from.is_repeatable())?;
            let every = Duration::from_secs(every_s);
            Some(Task {
                secret,
                every,
                due: now + before_expiry(every),
                failures: 0,
            })
        };
        Self {
            tasks: secrets.iter().filter_map(task).collect(),
            earliest: now,
        }
    }

    /// Returns the index of the next task and its time; `None` if no task is left.
    pub(super) fn next(&self) -> Option<(usize, Instant)> {
        let tasks = self.tasks.iter().enumerate();
        let (index, task) = tasks.min_by_key(|(_, task)| task.due)?;
        Some((index, task.due.max(self.earliest)))
    }

    /// Returns the secret of a task.
    pub(super) fn secret(&self, index: usize) -> Option<&'a Secret> {
        self.tasks.get(index).map(|task| task.secret)
    }

    /// Records that a source is read from `now` on.
    pub(super) fn begin(&mut self, now: Instant) {
        self.earliest = now + READ_INTERVAL;
    }

    /// Records the result of a read that ended at `now`.
    pub(super) fn end(&mut self, index: usize, outcome: Outcome, now: Instant) {
        let Some(task) = self.tasks.get_mut(index) else {
            return;
        };
        match outcome {
            Outcome::Sent => {
                task.failures = 0;
                task.due = now + before_expiry(task.every);
            }
            Outcome::Failed => {
                let factor = 2_u32.saturating_pow(task.failures);
                task.failures = task.failures.saturating_add(1);
                task.due = now + READ_INTERVAL.saturating_mul(factor).min(RETRY_MAX);
            }
            Outcome::Removed => {
                self.tasks.remove(index);
            }
        }
    }
}

/// Returns the time from the arrival of a value to the next read, which has to end before the value expires.
fn before_expiry(every: Duration) -> Duration {
    every.saturating_sub((every / 10).min(LEAD_MAX))
}
