use packed_file::GROUP_BYTES;

use crate::Proof;
use crate::unit::UnitRange;
use crate::{narrow, wide};

/// A unit that was read from a cache file and fetched from sources, as far as it is proven.
#[derive(Debug)]
pub(crate) struct Fetched {
    start_bytes: u64,
    bytes: Vec<u8>,
    /// True for each group that is proven.
    is_proven: Vec<bool>,
    /// The failures of the cache file and of the sources, as clauses.
    pub(crate) failures: Vec<String>,
}

impl Fetched {
    pub(crate) fn new(range: UnitRange) -> Self {
        Self {
            start_bytes: range.start_bytes,
            bytes: vec![0; range.length],
            is_proven: vec![false; range.length.div_ceil(GROUP_BYTES)],
            failures: Vec::new(),
        }
    }

    /// Takes the groups of an answer that are proven and were not before. Returns their length, in bytes.
    pub(crate) fn take(&mut self, answer: &[u8], proof: &dyn Proof) -> u64 {
        let mut taken_bytes = 0;
        let offsets = (self.start_bytes..).step_by(GROUP_BYTES);
        let groups = self
            .bytes
            .chunks_mut(GROUP_BYTES)
            .zip(answer.chunks(GROUP_BYTES));
        let groups = groups.zip(&mut self.is_proven).zip(offsets);
        for (((group, answer), is_proven), offset_bytes) in groups {
            if !*is_proven && group.len() == answer.len() && proof.proves(offset_bytes, answer) {
                group.copy_from_slice(answer);
                *is_proven = true;
                taken_bytes += wide(group.len());
            }
        }
        taken_bytes
    }

    /// Returns true if every group is proven.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_proven.iter().all(|is_proven| *is_proven)
    }

    /// Returns the runs of proven groups that were taken after `before`, with the offset of each in bytes.
    pub(crate) fn runs_since(&self, before: &[bool]) -> Vec<(u64, &[u8])> {
        let is_new = |index: &usize| {
            self.is_proven.get(*index) == Some(&true) && before.get(*index) == Some(&false)
        };
        let mut runs = Vec::new();
        let mut index = 0;
        while index < self.is_proven.len() {
            let end = (index..self.is_proven.len()).find(|index| !is_new(index));
            let end = end.unwrap_or(self.is_proven.len());
            if end > index {
                let (start, end) = (index * GROUP_BYTES, end * GROUP_BYTES);
                let run = self.bytes.get(start..end.min(self.bytes.len()));
                runs.push((self.start_bytes + wide(start), run.unwrap_or_default()));
            }
            index = end.max(index + 1);
        }
        runs
    }

    /// Returns true for each group that is proven.
    pub(crate) fn proven_groups(&self) -> Vec<bool> {
        self.is_proven.clone()
    }

    /// Fills `buf` with the bytes from `offset_bytes` on, which are in the unit. Returns false if not all are proven.
    pub(crate) fn copy_to(&self, buf: &mut [u8], offset_bytes: u64) -> bool {
        let start = narrow(offset_bytes - self.start_bytes);
        let end = start + buf.len();
        let groups = start / GROUP_BYTES..end.div_ceil(GROUP_BYTES);
        let is_proven = self.is_proven.get(groups);
        let is_proven = is_proven.is_some_and(|groups| groups.iter().all(|is_proven| *is_proven));
        let bytes = self.bytes.get(start..end).filter(|_| is_proven);
        if let Some(bytes) = bytes {
            buf.copy_from_slice(bytes);
        }
        bytes.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves groups of one byte of an even number.
    struct Even;
    impl Proof for Even {
        fn size_bytes(&self) -> u64 {
            1 << 20
        }
        fn block_bytes(&self) -> u64 {
            wide(GROUP_BYTES)
        }
        fn proves(&self, _: u64, bytes: &[u8]) -> bool {
            bytes.iter().all(|byte| *byte == bytes[0] && byte % 2 == 0)
        }
    }

    #[test]
    fn groups_are_taken_from_several_answers() {
        let range = UnitRange {
            number: 1,
            start_bytes: 1 << 20,
            length: 4 * GROUP_BYTES + 10,
        };
        let mut fetched = Fetched::new(range);
        let answer = |bytes: [u8; 5]| {
            let mut answer: Vec<u8> = bytes.iter().flat_map(|byte| [*byte; GROUP_BYTES]).collect();
            answer.truncate(range.length);
            answer
        };
        assert_eq!(fetched.take(&answer([1, 2, 1, 1, 1]), &Even), 65_536);
        let before = fetched.proven_groups();
        assert_eq!(
            fetched.take(&answer([4, 4, 1, 4, 4]), &Even),
            2 * 65_536 + 10
        );
        assert!(!fetched.is_whole());
        let runs = fetched.runs_since(&before);
        let runs: Vec<_> = runs
            .iter()
            .map(|(at, run)| (at - (1 << 20), run.len()))
            .collect();
        assert_eq!(runs, [(0, 65_536), (3 * 65_536, 65_546)]);

        let mut bytes = [0; 2];
        assert!(fetched.copy_to(&mut bytes, (1 << 20) + 65_535));
        assert_eq!(bytes, [4, 2]);
        assert!(!fetched.copy_to(&mut bytes, (1 << 20) + 131_071));
        assert_eq!(bytes, [4, 2]);
        assert!(fetched.copy_to(&mut bytes, (1 << 20) + 4 * 65_536 + 8));
        // An answer that is short gives nothing for its last group.
        assert_eq!(fetched.take(&[2; 2 * GROUP_BYTES + 5], &Even), 0);
    }
}
