use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of events since an artifact was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Reads, or parts of them in one unit, that the cache file had.
    pub reads_from_cache: u64,
    /// Reads, or parts of them in one unit, that waited for a unit.
    pub reads_from_units: u64,
    /// Reads, or parts of them in one unit, that failed.
    pub reads_failed: u64,
    /// Bytes other than zeros in the cache file that were not proven at a read.
    pub cache_faults: u64,
    /// Units that a source was asked for by this process.
    pub fetched_units: u64,
    /// Bytes of sources that were proven.
    pub fetched_bytes: u64,
    /// Answers of sources with bytes that were not proven.
    pub wrong_answers: u64,
    /// Errors of sources.
    pub source_errors: u64,
    /// Bytes that were written to the cache file.
    pub kept_bytes: u64,
    /// Writes to the cache file that failed.
    pub failed_writes: u64,
}

/// The counters behind [`Counts`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) reads_from_cache: Counter,
    pub(crate) reads_from_units: Counter,
    pub(crate) reads_failed: Counter,
    pub(crate) cache_faults: Counter,
    pub(crate) fetched_units: Counter,
    pub(crate) fetched_bytes: Counter,
    pub(crate) wrong_answers: Counter,
    pub(crate) source_errors: Counter,
    pub(crate) kept_bytes: Counter,
    pub(crate) failed_writes: Counter,
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub(crate) fn read(&self) -> Counts {
        Counts {
            reads_from_cache: self.reads_from_cache.get(),
            reads_from_units: self.reads_from_units.get(),
            reads_failed: self.reads_failed.get(),
            cache_faults: self.cache_faults.get(),
            fetched_units: self.fetched_units.get(),
            fetched_bytes: self.fetched_bytes.get(),
            wrong_answers: self.wrong_answers.get(),
            source_errors: self.source_errors.get(),
            kept_bytes: self.kept_bytes.get(),
            failed_writes: self.failed_writes.get(),
        }
    }
}
