//! Verification that the parts of an image agree.

mod groups;
mod ledger;
mod usage;

use crate::features::RoCompat;
use crate::read::{Corrupt, Fault, Image, Nodes, ReadAt, ReadError, Structure, Unsupported};
use ledger::Ledger;
pub(crate) use usage::{Region, Usage};

/// Contents of a consistent image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Number of inodes that have a name, of every type.
    pub inodes: u64,
    /// Number of directories among them.
    pub directories: u64,
    /// Number of regular files among them.
    pub regular_files: u64,
    /// Bytes of content in regular files, holes included.
    pub content_bytes: u64,
    /// Number of blocks in use, by metadata or content.
    pub used_blocks: u64,
}

/// An error while an image is verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The image cannot be read to its end.
    #[error("cannot read the image to its end")]
    Read(#[from] ReadError),
    /// The parts of the image contradict each other.
    #[error("the image is inconsistent")]
    Inconsistent(#[source] Corrupt),
}

impl<R: ReadAt> Image<R> {
    /// Reads every structure and checks that all of them agree: checksums, `.` and `..`, link
    /// counts, the block count of each inode, both bitmaps, and the free counts of descriptors and
    /// superblock. No block may be used twice. Copies of the superblock and of the descriptors are
    /// not compared, nor are hashes of names.
    ///
    /// An image with a journal to replay is verified as it is after the replay. Files that were
    /// deleted while they were open are in no directory; an image that was not unmounted may
    /// contain such files, and then fails the verification.
    ///
    /// # Errors
    /// The first contradiction, or an error while the image is read.
    pub fn verify(&self) -> Result<Report, VerifyError> {
        if self.layout.ro_compat.contains(RoCompat::BIGALLOC) {
            return Err(ReadError::Unsupported(Unsupported::Clusters).into());
        }
        let mut usage = Usage::read_groups(self)?;
        let mut ledger = Ledger::default();
        let mut nodes = Nodes::new(self);
        while let Some(node) = nodes.next()? {
            ledger.enter(&self.layout, &node)?;
            usage.enter(&node);
        }
        ledger.close()?;
        usage.enter_hidden(self, &mut nodes)?;
        usage.sort(self.layout.block_size())?;
        self.check_groups(&usage, &ledger)?;
        Ok(Report {
            used_blocks: usage.blocks(),
            ..ledger.report
        })
    }
}

fn inconsistent(structure: Structure, offset_bytes: u64, fault: Fault) -> VerifyError {
    VerifyError::Inconsistent(Corrupt::new(structure, offset_bytes, fault))
}

/// Compares a stored count with the number that was counted.
fn check_count(
    (structure, offset_bytes): (Structure, u64),
    name: &'static str,
    stored: u64,
    counted: u64,
) -> Result<(), VerifyError> {
    if stored == counted {
        return Ok(());
    }
    let fault = Fault::Count {
        name,
        stored,
        counted,
    };
    Err(inconsistent(structure, offset_bytes, fault))
}
