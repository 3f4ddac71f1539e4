use std::error::Error;
use std::fs::File;
use std::io;

use artifact_cache::{Artifact, Notice};
use fstree::ReadAt;
use verified_file::{ReadError, VerifiedFile};

use crate::packed_reader::PackedReader;

/// An open artifact, in one of its forms.
#[derive(Debug)]
pub enum ArtifactFile {
    /// The plain form. Its reader compares the content, or nobody does.
    Plain(File),
    /// The plain form, whose every read is verified by its tree.
    Verified(VerifiedFile<File, File>),
    /// The packed form, read without a cache file.
    Packed(PackedReader),
    /// The packed form with its cache file. Every read is verified.
    Cached(Box<Artifact>),
}

/// An event of an open artifact that the log of its machine should have.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The event. Its causes may say more.
    pub event: &'a (dyn Error + 'static),
    /// True if a read has failed: neither the file nor a source has the bytes.
    pub is_failed_read: bool,
}

impl ArtifactFile {
    /// Reports events to `log`, each once and a bounded number of them. An artifact that is not verified has no events.
    #[must_use]
    pub fn with_log(self, log: impl Fn(Report<'_>) + Send + Sync + 'static) -> Self {
        match self {
            Self::Verified(file) => Self::Verified(file.with_log(move |failure: &ReadError| {
                log(Report {
                    event: failure,
                    is_failed_read: true,
                });
            })),
            Self::Cached(artifact) => {
                let artifact = artifact.with_log(move |notice: &Notice| {
                    log(Report {
                        event: notice,
                        is_failed_read: matches!(notice, Notice::Unreadable { .. }),
                    });
                });
                Self::Cached(Box::new(artifact))
            }
            plain_or_packed => plain_or_packed,
        }
    }

    /// Returns true if the artifact was opened in its packed form.
    pub const fn is_packed(&self) -> bool {
        matches!(self, Self::Packed(_) | Self::Cached(_))
    }
}

impl ReadAt for ArtifactFile {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        match self {
            Self::Plain(file) => ReadAt::read_exact_at(file, buf, offset_bytes),
            Self::Verified(file) => file.read_exact_at(buf, offset_bytes),
            Self::Packed(file) => file.read_exact_at(buf, offset_bytes),
            Self::Cached(artifact) => artifact.read_exact_at(buf, offset_bytes),
        }
    }

    fn size_bytes(&self) -> io::Result<u64> {
        match self {
            Self::Plain(file) => ReadAt::size_bytes(file),
            Self::Verified(file) => file.size_bytes(),
            Self::Packed(file) => file.size_bytes(),
            Self::Cached(artifact) => Ok(artifact.size_bytes()),
        }
    }
}
