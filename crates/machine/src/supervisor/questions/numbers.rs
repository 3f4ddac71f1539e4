use std::io;
use std::path::{Path, PathBuf};

use msb_machine_records::{QuestionRecords, untrusted_file};
use questions::NUMBER_MAX;

/// The first block of numbers that is reserved, and the largest. A block is twice as large as the one before, so that
/// few questions leave a small gap at the next start, and many make the disk write seldom.
const BLOCK_MIN: u64 = 16;
const BLOCK_MAX: u64 = 1 << 16;

/// The numbers of a sandbox's questions. Each is given out once in the life of the sandbox: a file has the end of
/// those that are reserved, and the next machine begins there.
#[derive(Debug)]
pub(super) struct Numbers {
    path: PathBuf,
    next: u64,
    /// The end of the reserved numbers.
    end: u64,
    block: u64,
}

/// A question cannot get a number.
#[derive(Debug, thiserror::Error)]
pub(super) enum NumberError {
    /// The sandbox has had as many questions as there are numbers.
    #[error("the sandbox has asked {NUMBER_MAX} questions, which is the limit")]
    Used,
    /// The end of the reserved numbers cannot be kept.
    #[error("cannot write {}", .path.display())]
    Keep { path: PathBuf, source: io::Error },
}

impl Numbers {
    /// Returns the numbers that were not given out before. The files are untrusted: a guest may have taken the
    /// process over that wrote them. Without a number at `path` those in `journal` are passed over.
    pub(super) fn open(path: PathBuf, journal: &Path) -> Self {
        let last = || QuestionRecords::open(journal).and_then(QuestionRecords::last_id);
        // Without both the sandbox has asked nothing.
        let next = read(&path).unwrap_or_else(|| last().unwrap_or(0) + 1);
        Self {
            path,
            next,
            end: next,
            block: BLOCK_MIN,
        }
    }

    /// Returns a number that no other question of the sandbox has.
    ///
    /// # Errors
    /// If the number cannot be reserved: a later machine might give it out again.
    pub(super) fn take(&mut self) -> Result<u64, NumberError> {
        if self.next >= self.end {
            self.reserve()?;
        }
        let number = self.next;
        self.next += 1;
        Ok(number)
    }

    fn reserve(&mut self) -> Result<(), NumberError> {
        if self.next > NUMBER_MAX {
            return Err(NumberError::Used);
        }
        let end = (self.next + self.block).min(NUMBER_MAX + 1);
        let kept = durable_files::publish_bytes(&self.path, format!("{end}\n").as_bytes());
        kept.map_err(|source| NumberError::Keep {
            path: self.path.clone(),
            source,
        })?;
        self.end = end;
        self.block = (2 * self.block).min(BLOCK_MAX);
        Ok(())
    }
}

/// Reads the end of the reserved numbers; `None` if the file does not have one.
fn read(path: &Path) -> Option<u64> {
    let bytes = untrusted_file::read(path).ok().flatten()?;
    let number = std::str::from_utf8(&bytes).ok()?.trim().parse().ok()?;
    (1..=NUMBER_MAX + 1).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fs_err as fs;

    use super::*;

    #[test]
    fn a_number_is_given_out_once_over_restarts_and_floods() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("asks.next");
        let open = || Numbers::open(path.clone(), &directory.path().join("asks.jsonl"));
        let mut given = BTreeSet::new();
        for count in [0, 1, 3, 40, 5000, 1] {
            let mut numbers = open();
            for _ in 0..count {
                let number = numbers.take().expect("a number");
                assert!(given.insert(number), "{number} is given out again");
            }
        }
        assert_eq!(given.first(), Some(&1));
        assert!(given.last() < Some(&20_000), "the gaps are large");
    }

    #[test]
    fn what_is_no_number_is_passed_over_and_the_last_number_is_the_last() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("asks.next");
        let open = || Numbers::open(path.clone(), &directory.path().join("asks.jsonl"));
        let huge = u64::MAX.to_string();
        for text in [
            "",
            "x",
            "-1",
            "0",
            huge.as_str(),
            "9999999999999999999999",
            "\0",
        ] {
            fs::write(&path, text).expect("written");
            assert_eq!(open().take().expect("a number"), 1, "{text:?}");
        }
        fs::write(&path, format!("{NUMBER_MAX}\n")).expect("written");
        let mut numbers = open();
        assert_eq!(numbers.take().expect("the last"), NUMBER_MAX);
        for mut numbers in [numbers, open()] {
            assert!(matches!(numbers.take(), Err(NumberError::Used)));
        }
    }

    #[test]
    fn a_number_that_cannot_be_kept_is_not_given_out() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("asks.next");
        let mut numbers = Numbers::open(path.clone(), &directory.path().join("asks.jsonl"));
        fs::create_dir_all(path.join("in-the-way")).expect("made");
        let error = numbers.take().expect_err("its place is taken").to_string();
        assert!(error.contains("asks.next"), "{error}");
        fs::remove_dir_all(&path).expect("removed");
        assert_eq!(numbers.take().expect("a number"), 1);
    }
}
