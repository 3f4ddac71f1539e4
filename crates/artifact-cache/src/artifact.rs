use std::fmt;
use std::io;
use std::sync::Arc;

use fstree::ReadAt;

use crate::counts::Counters;
use crate::fetched::Fetched;
use crate::flights::Flights;
use crate::notice::Notices;
use crate::unit::UnitRange;
use crate::{
    CacheFile, Counts, FetchUnit, Notice, Proof, ReadError, Recency, Source, UnitLocks, narrow,
    wide,
};

/// The number of reads of bytes that are not proven, before a source is asked: another thread or process may be
/// writing them.
const READS: u32 = 3;

/// An artifact that may be incomplete. Several threads may read it at once.
pub struct Artifact {
    pub(crate) name: String,
    pub(crate) size_bytes: u64,
    pub(crate) cache: Box<dyn CacheFile>,
    pub(crate) proof: Box<dyn Proof>,
    pub(crate) sources: Vec<Box<dyn Source>>,
    pub(crate) unit: FetchUnit,
    pub(crate) locks: Option<Arc<UnitLocks>>,
    pub(crate) notices: Notices,
    pub(crate) counters: Counters,
    flights: Flights<Fetched>,
    recency: Recency,
}

impl fmt::Debug for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Artifact")
            .field("name", &self.name)
            .field("size_bytes", &self.size_bytes)
            .field("unit", &self.unit)
            .finish_non_exhaustive()
    }
}

impl Artifact {
    /// Returns the artifact of a cache file, without sources. The name is for people, and the same in all processes
    /// that share [`UnitLocks`].
    pub fn new(name: &str, cache: impl CacheFile + 'static, proof: impl Proof + 'static) -> Self {
        let size_bytes = proof.size_bytes();
        Self {
            name: name.to_owned(),
            size_bytes,
            cache: Box::new(cache),
            proof: Box::new(proof),
            sources: Vec::new(),
            unit: FetchUnit::default(),
            locks: None,
            notices: Notices::default(),
            counters: Counters::default(),
            flights: Flights::default(),
            recency: Recency::new(size_bytes),
        }
    }

    /// Returns the artifact with a source that is asked after the others.
    #[must_use]
    pub fn with_source(mut self, source: impl Source + 'static) -> Self {
        self.sources.push(Box::new(source));
        self
    }

    /// Returns the artifact with another unit than 64 KiB.
    #[must_use]
    pub fn with_unit(self, unit: FetchUnit) -> Self {
        Self { unit, ..self }
    }

    /// Returns the artifact with locks between processes.
    #[must_use]
    pub fn with_locks(self, locks: Arc<UnitLocks>) -> Self {
        let locks = Some(locks);
        Self { locks, ..self }
    }

    /// Returns the artifact with a function that gets its notices. It must not read the artifact.
    #[must_use]
    pub fn with_log(self, log: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        let notices = Notices::new(Box::new(log));
        Self { notices, ..self }
    }

    /// Returns the name of the artifact.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the size of the artifact, in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns the numbers of events so far.
    pub fn counts(&self) -> Counts {
        self.counters.read()
    }

    /// Returns the times of use of the artifact's parts.
    pub fn recency(&self) -> &Recency {
        &self.recency
    }

    /// Fills `buf` with the artifact's bytes from `offset_bytes` on, all of them proven.
    ///
    /// # Errors
    /// If they end beyond the artifact, or neither the cache file nor a source has them. `buf` may then have any
    /// bytes.
    pub fn read(&self, buf: &mut [u8], offset_bytes: u64) -> Result<(), ReadError> {
        let length_bytes = wide(buf.len());
        let end_bytes = offset_bytes.checked_add(length_bytes);
        if end_bytes.is_none_or(|end_bytes| end_bytes > self.size_bytes) {
            return Err(ReadError::OutOfRange {
                artifact: self.name.clone(),
                offset_bytes,
                length_bytes,
                size_bytes: self.size_bytes,
            });
        }
        let (mut rest, mut at_bytes) = (buf, offset_bytes);
        while !rest.is_empty() {
            let unit = self.unit.range_of(at_bytes, self.size_bytes);
            let left = unit.length - narrow(at_bytes - unit.start_bytes);
            let (piece, after) = rest.split_at_mut(rest.len().min(left));
            self.read_piece(piece, at_bytes, unit)?;
            at_bytes += wide(piece.len());
            rest = after;
        }
        Ok(())
    }

    /// Fills a part of one unit.
    fn read_piece(
        &self,
        piece: &mut [u8],
        offset_bytes: u64,
        unit: UnitRange,
    ) -> Result<(), ReadError> {
        self.recency.touch(offset_bytes);
        if self.read_from_cache(piece, offset_bytes) {
            self.counters.reads_from_cache.add(1);
            return Ok(());
        }
        let fetched = self.flights.join(unit.number, || self.fetch(unit));
        if fetched.copy_to(piece, offset_bytes) {
            self.counters.reads_from_units.add(1);
            return Ok(());
        }
        self.counters.reads_failed.add(1);
        let reason = fetched.failures.join("; ");
        self.notices.send(&Notice::Unreadable {
            artifact: self.name.clone(),
            offset_bytes: unit.start_bytes,
            reason: reason.clone(),
        });
        Err(ReadError::Unreadable {
            artifact: self.name.clone(),
            offset_bytes,
            length_bytes: wide(piece.len()),
            reason,
        })
    }

    /// Fills a part of one unit from the cache file. Returns false if its blocks are not proven.
    fn read_from_cache(&self, piece: &mut [u8], offset_bytes: u64) -> bool {
        let (block_bytes, end_bytes) = (self.proof.block_bytes(), offset_bytes + wide(piece.len()));
        let start_bytes = offset_bytes - offset_bytes % block_bytes;
        let blocks_end_bytes = end_bytes.next_multiple_of(block_bytes).min(self.size_bytes);
        if (start_bytes, blocks_end_bytes) == (offset_bytes, end_bytes) {
            return self.read_blocks(piece, offset_bytes);
        }
        let mut blocks = vec![0; narrow(blocks_end_bytes - start_bytes)];
        let skipped = narrow(offset_bytes - start_bytes);
        let is_proven = self.read_blocks(&mut blocks, start_bytes);
        let wanted = blocks
            .get(skipped..)
            .and_then(|from| from.get(..piece.len()));
        if let Some(wanted) = wanted.filter(|_| is_proven) {
            piece.copy_from_slice(wanted);
        }
        is_proven
    }

    /// Fills blocks from the cache file. Returns false if they are not proven.
    pub(crate) fn read_blocks(&self, blocks: &mut [u8], offset_bytes: u64) -> bool {
        for _ in 0..READS {
            let read = self.cache.read_exact_at(blocks, offset_bytes);
            if read.is_ok() && self.proof.proves(offset_bytes, blocks) {
                return true;
            }
            // A hole does not fill by being read again.
            if read.is_ok() && is_zeros(blocks) {
                return false;
            }
        }
        self.counters.cache_faults.add(1);
        false
    }
}

/// Returns true if all bytes are zeros.
fn is_zeros(bytes: &[u8]) -> bool {
    // An array is compared at once, and a byte at a time is not.
    let (pieces, rest) = bytes.as_chunks::<64>();
    pieces.iter().all(|piece| *piece == [0; 64]) && rest.iter().all(|byte| *byte == 0)
}

impl ReadAt for Artifact {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        Ok(self.read(buf, offset_bytes)?)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.size_bytes)
    }
}
