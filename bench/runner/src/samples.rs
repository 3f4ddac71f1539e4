use std::fmt::Display;
use std::time::Instant;

use crate::message::Record;

/// The durations of single operations, and their failures.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    nanoseconds: Vec<u64>,
    errors: u64,
    first_error: Option<String>,
}

impl Samples {
    /// Runs an operation and records its duration. An operation that fails is counted too.
    pub(crate) fn operation<T, E: Display>(
        &mut self,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Option<T> {
        let begun = Instant::now();
        let result = work();
        self.took(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
        result.map_err(|error| self.failed(&error)).ok()
    }

    /// Records an operation that measured its own duration.
    pub(crate) fn took(&mut self, nanoseconds: u64) {
        self.nanoseconds.push(nanoseconds);
    }

    fn failed(&mut self, error: &impl Display) {
        self.errors += 1;
        self.first_error.get_or_insert_with(|| error.to_string());
    }

    /// Adds the measurements of another thread.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.nanoseconds.append(&mut other.nanoseconds);
        self.errors += other.errors;
        self.first_error = self.first_error.take().or(other.first_error);
    }

    /// Returns a summary of all operations.
    pub(crate) fn record(mut self) -> Record {
        self.nanoseconds.sort_unstable();
        Record {
            operations: self.nanoseconds.len() as u64,
            errors: self.errors,
            error: self.first_error,
            p50_ns: percentile(&self.nanoseconds, 50),
            p95_ns: percentile(&self.nanoseconds, 95),
            p99_ns: percentile(&self.nanoseconds, 99),
            ..Record::default()
        }
    }
}

/// Returns a percentile of sorted figures: the least that `percent` of 100 do not exceed; 0 if
/// there are none.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Samples, percentile};

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(percentile(&hundred, 50), 50);
        assert_eq!(percentile(&hundred, 95), 95);
        assert_eq!(percentile(&hundred, 99), 99);
        assert_eq!(percentile(&[1, 2, 3], 50), 2);
        assert_eq!(percentile(&[1, 2, 3], 99), 3);
        assert_eq!(percentile(&[7], 50), 7);
        assert_eq!(percentile(&[], 50), 0);
    }

    #[test]
    fn failures_count_as_operations_and_the_first_is_told() {
        let mut samples = Samples::default();
        let mut thread = Samples::default();
        assert_eq!(samples.operation(|| Ok::<_, &str>(5)), Some(5));
        assert_eq!(thread.operation(|| Err::<(), _>("first")), None);
        assert_eq!(thread.operation(|| Err::<(), _>("second")), None);
        samples.append(thread);
        let record = samples.record();
        assert_eq!((record.operations, record.errors), (3, 2));
        assert_eq!(record.error.as_deref(), Some("first"));
    }
}
