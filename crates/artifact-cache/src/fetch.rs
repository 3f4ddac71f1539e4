//! The way of one thread for all that wait for a unit: the cache file once more, then the sources in their order,
//! and what they have back into the cache file.

use packed_file::GROUP_BYTES;

use crate::fetched::Fetched;
use crate::unit::UnitRange;
use crate::{Artifact, Notice, Source, wide};

impl Artifact {
    /// Returns a unit, as far as the cache file and the sources have it.
    pub(crate) fn fetch(&self, unit: UnitRange) -> Fetched {
        let mut fetched = Fetched::new(unit);
        if self.sources.is_empty() {
            self.take_from_cache(&mut fetched, unit);
            return fetched;
        }
        let locks = self.locks.as_deref();
        let _lock = locks.and_then(|locks| locks.lock(&self.name, unit.number));
        // Another process may have filled it while this one waited.
        self.take_from_cache(&mut fetched, unit);
        let in_cache = fetched.proven_groups();
        if fetched.is_whole() {
            return fetched;
        }
        self.counters.fetched_units.add(1);
        for source in &self.sources {
            self.ask(source.as_ref(), &mut fetched, unit);
            if fetched.is_whole() {
                break;
            }
        }
        self.keep(&fetched, &in_cache);
        fetched
    }

    /// Takes the groups of a unit that the cache file has.
    fn take_from_cache(&self, fetched: &mut Fetched, unit: UnitRange) {
        let mut answer = vec![0; unit.length];
        let offsets = (unit.start_bytes..).step_by(GROUP_BYTES);
        for (group, offset_bytes) in answer.chunks_mut(GROUP_BYTES).zip(offsets) {
            // A group that cannot be read is not proven.
            let _ = self.cache.read_exact_at(group, offset_bytes);
        }
        fetched.take(&answer, self.proof.as_ref());
        if !fetched.is_whole() {
            let failure = "the file on this host does not have the right bytes";
            fetched.failures.push(failure.to_owned());
        }
    }

    /// Asks one source for a unit.
    fn ask(&self, source: &dyn Source, fetched: &mut Fetched, unit: UnitRange) {
        let mut answer = vec![0; unit.length];
        let (source_name, artifact) = (source.name(), self.name.clone());
        if let Err(error) = source.fetch(&mut answer, unit.start_bytes) {
            self.counters.source_errors.add(1);
            let reason = error.to_string();
            fetched
                .failures
                .push(format!("{source_name} fails: {reason}"));
            self.notices.send(&Notice::SourceFailed {
                source_name,
                artifact,
                offset_bytes: unit.start_bytes,
                reason,
            });
            return;
        }
        let taken_bytes = fetched.take(&answer, self.proof.as_ref());
        self.counters.fetched_bytes.add(taken_bytes);
        if !fetched.is_whole() {
            self.counters.wrong_answers.add(1);
            fetched
                .failures
                .push(format!("{source_name} has wrong bytes"));
            self.notices.send(&Notice::WrongBytes {
                source_name,
                artifact,
                offset_bytes: unit.start_bytes,
            });
        }
    }

    /// Writes the fetched bytes to the cache file. If that fails, a later read fetches them again.
    fn keep(&self, fetched: &Fetched, in_cache: &[bool]) {
        for (offset_bytes, run) in fetched.runs_since(in_cache) {
            match self.cache.write_all_at(run, offset_bytes) {
                Ok(()) => self.counters.kept_bytes.add(wide(run.len())),
                Err(error) => {
                    self.counters.failed_writes.add(1);
                    self.notices.send(&Notice::NotKept {
                        artifact: self.name.clone(),
                        reason: error.to_string(),
                    });
                }
            }
        }
    }
}
