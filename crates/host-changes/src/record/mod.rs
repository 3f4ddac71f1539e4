//! The record of an apply that is putting new files in their places, from which another process finishes it.

mod error;
mod records;

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use error::ApplyRecordError;
pub(super) use records::RecordFile;
pub use records::{ApplyRecords, WaitingApply};

use super::directory_identity::DirectoryIdentity;
use super::hex_bytes;
use super::pending::{PendingAction, PendingStep};
use super::unfinished_name::is_unfinished;

/// The version of records that this program writes.
const VERSION: u32 = 1;
/// The longest record, in bytes: about 100,000 files. An apply of more is not recorded.
const RECORD_MAX_BYTES: usize = 64 << 20;
/// The most bytes that a step takes beside its names and xattrs, each byte of which takes two.
const STEP_MAX_BYTES: usize = 700;
/// The longest path of a step, in bytes, and the longest name.
const PATH_MAX_BYTES: usize = 64 << 10;
const NAME_MAX_BYTES: usize = 255;
/// The permission bits that a file gets together with its owner, and without.
const MODE_MAX: u16 = 0o7777;
const MODE_WITHOUT_OWNER_MAX: u16 = 0o1777;
/// Nanoseconds in a second.
const SECOND_NS: u32 = 1_000_000_000;

/// The steps that are left to be done in a directory.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    /// Absolute path of the directory.
    #[serde(with = "hex_bytes")]
    directory: Vec<u8>,
    identity: DirectoryIdentity,
    /// True if owners are applied.
    pub(super) keep_owner: bool,
    /// The steps, in their order.
    pub(super) steps: Vec<PendingStep>,
}

impl Record {
    pub(super) fn new(
        directory: &Path,
        identity: DirectoryIdentity,
        keep_owner: bool,
        steps: Vec<PendingStep>,
    ) -> Self {
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        Self {
            version: VERSION,
            directory: directory.as_os_str().as_bytes().to_vec(),
            identity,
            keep_owner,
            steps,
        }
    }

    /// Returns the record in the bytes of a file.
    pub(super) fn open(bytes: &[u8]) -> Result<Self, ApplyRecordError> {
        if bytes.len() > RECORD_MAX_BYTES {
            return Err(ApplyRecordError::TooLong);
        }
        let record: Self = sealed_records::open(bytes)?;
        record.check()?;
        Ok(record)
    }

    /// Returns the record in the form of its file; `None` if it is longer than records may be.
    pub(super) fn seal(&self) -> std::io::Result<Option<Vec<u8>>> {
        let bytes = |step: &PendingStep| STEP_MAX_BYTES + 2 * step.text_bytes();
        let most = self.steps.iter().map(bytes).fold(0, usize::saturating_add);
        if most > RECORD_MAX_BYTES || self.check().is_err() {
            return Ok(None);
        }
        let sealed = sealed_records::seal(self)?;
        Ok(Some(sealed).filter(|sealed| sealed.len() <= RECORD_MAX_BYTES))
    }

    /// Checks that no step leads out of the directory, or sets what an apply does not set.
    pub(super) fn check(&self) -> Result<(), ApplyRecordError> {
        if self.version != VERSION {
            return Err(ApplyRecordError::Version {
                version: self.version,
            });
        }
        let mode_max = if self.keep_owner {
            MODE_MAX
        } else {
            MODE_WITHOUT_OWNER_MAX
        };
        for step in &self.steps {
            let is_of_waiting = match &step.action {
                PendingAction::Place(place) => {
                    let above = &place.waiting.above;
                    (above.is_empty() || is_path(above)) && is_unfinished(&place.waiting.name)
                }
                PendingAction::Link(link) => is_path(&link.other) && is_unfinished(&link.name),
                _ => true,
            };
            let attributes = step.attributes();
            let is_possible = attributes.is_none_or(|attributes| {
                attributes.mode & !mode_max == 0 && attributes.mtime_ns < SECOND_NS
            });
            if !(is_path(&step.path) && is_of_waiting && is_possible) {
                return Err(ApplyRecordError::Step {
                    path: step.path.clone(),
                });
            }
        }
        Ok(())
    }

    /// Checks that a directory is the one that the record is of.
    fn check_directory(&self, found: &DirectoryIdentity) -> Result<(), ApplyRecordError> {
        if self.identity == *found {
            Ok(())
        } else {
            Err(ApplyRecordError::OtherDirectory)
        }
    }
}

/// Returns true for a path that stays in the directory that it is relative to.
fn is_path(path: &[u8]) -> bool {
    let is_name = |name: &[u8]| {
        !matches!(name, b"" | b"." | b"..") && name.len() <= NAME_MAX_BYTES && !name.contains(&0)
    };
    path.len() <= PATH_MAX_BYTES && path.split(|&byte| byte == b'/').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_in_its_directory() {
        for path in ["a", "a/b", "...", "a/.msb", "-"] {
            assert!(is_path(path.as_bytes()), "{path}");
        }
        let long = "a".repeat(NAME_MAX_BYTES + 1);
        for path in [
            "", "/", "/a", "a/", "a//b", "..", "a/../b", "./a", "a\0", &long,
        ] {
            assert!(!is_path(path.as_bytes()), "{path}");
        }
    }
}
