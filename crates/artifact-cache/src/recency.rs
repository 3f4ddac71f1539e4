use std::sync::atomic::{AtomicU32, Ordering};

use crate::{narrow, wide};

/// The smallest part of an artifact whose use is known, in bytes.
const SLOT_MIN_BYTES: u64 = 1 << 20;
/// The most parts of an artifact: 256 KiB of memory.
const SLOTS_MAX: u64 = 1 << 16;

/// The time of the last use of each part of an artifact, in a unit that the caller chooses, such as minutes since the
/// epoch. A part has 1 MiB, or a 65,536th of a larger artifact.
///
/// It is only the order in which parts are freed, so a lost or wrong one costs nothing but time.
#[derive(Debug)]
pub struct Recency {
    slot_bytes: u64,
    now: AtomicU32,
    used: Vec<AtomicU32>,
}

/// A part of an artifact, and the time of its last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot {
    pub(crate) used: u32,
    pub(crate) offset_bytes: u64,
    pub(crate) length_bytes: u64,
}

impl Recency {
    pub(crate) fn new(size_bytes: u64) -> Self {
        let slot_bytes = size_bytes.div_ceil(SLOTS_MAX).next_power_of_two();
        let slot_bytes = slot_bytes.max(SLOT_MIN_BYTES);
        let slots = narrow(size_bytes.div_ceil(slot_bytes));
        Self {
            slot_bytes,
            now: AtomicU32::new(0),
            used: (0..slots).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Sets the time of all uses from now on. It does not go back.
    pub fn advance_to(&self, now: u32) {
        self.now.fetch_max(now, Ordering::Relaxed);
    }

    /// Returns the times of all parts, 4 bytes for each, for [`Recency::merge`] of a later process.
    pub fn to_bytes(&self) -> Vec<u8> {
        let times = self.used.iter().map(|used| used.load(Ordering::Relaxed));
        times.flat_map(u32::to_le_bytes).collect()
    }

    /// Takes the later one of each two times. Bytes that are too many or too few are ignored.
    pub fn merge(&self, bytes: &[u8]) {
        let (times, _) = bytes.as_chunks();
        for (used, time) in self.used.iter().zip(times) {
            used.fetch_max(u32::from_le_bytes(*time), Ordering::Relaxed);
        }
    }

    /// Records that a byte is used now.
    pub(crate) fn touch(&self, offset_bytes: u64) {
        let index = usize::try_from(offset_bytes / self.slot_bytes).ok();
        if let Some(used) = index.and_then(|index| self.used.get(index)) {
            let now = self.now.load(Ordering::Relaxed);
            // Most reads are of a part that was used in this unit of time: they write nothing.
            if used.load(Ordering::Relaxed) < now {
                used.fetch_max(now, Ordering::Relaxed);
            }
        }
    }

    /// Returns all parts of an artifact of `size_bytes`.
    pub(crate) fn slots(&self, size_bytes: u64) -> impl Iterator<Item = Slot> {
        self.used.iter().enumerate().map(move |(index, used)| {
            let offset_bytes = wide(index) * self.slot_bytes;
            Slot {
                used: used.load(Ordering::Relaxed),
                offset_bytes,
                length_bytes: self.slot_bytes.min(size_bytes - offset_bytes),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_kept_and_merged() {
        let size_bytes = (3 << 20) + 5;
        let recency = Recency::new(size_bytes);
        recency.advance_to(7);
        recency.touch(1 << 20);
        recency.advance_to(5);
        recency.touch((2 << 20) - 1);
        recency.touch(3 << 20);
        recency.touch(u64::MAX);
        let used = |recency: &Recency| -> Vec<_> {
            recency.slots(size_bytes).map(|slot| slot.used).collect()
        };
        assert_eq!(used(&recency), [0, 7, 0, 7]);
        let last = recency.slots(size_bytes).last().unwrap();
        assert_eq!((last.offset_bytes, last.length_bytes), (3 << 20, 5));

        let later = Recency::new(size_bytes);
        later.advance_to(9);
        later.touch(0);
        later.touch(3 << 20);
        later.merge(&recency.to_bytes());
        assert_eq!(used(&later), [9, 7, 0, 9]);
        later.merge(&[255; 5]);
        later.merge(&[0; 500]);
        assert_eq!(used(&later), [u32::MAX, 7, 0, 9]);
    }

    #[test]
    fn the_memory_of_a_large_artifact_is_bounded() {
        for size_bytes in [0, 1, 1 << 36, (1 << 36) + 1, 16 << 40] {
            let recency = Recency::new(size_bytes);
            assert!(wide(recency.used.len()) <= SLOTS_MAX);
            let lengths = recency.slots(size_bytes).map(|slot| slot.length_bytes);
            assert_eq!(lengths.sum::<u64>(), size_bytes);
        }
    }
}
