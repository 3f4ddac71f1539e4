//! The layer that a stopped sandbox adds to an image.

mod committed;
mod error;
mod reader;

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use fstree::Timestamp;
use image_store::StoredImage;
use oci_image::{Digest, Hasher};
use tree_diff::{LayerNote, LayerOptions, LayerPlan};

pub use error::CommitError;
pub use reader::LayerReader;

use crate::diff::{DiffError, DiskRelation, DiskSide};
use crate::{Home, Sandbox};

/// The changes of a stopped sandbox as a layer of an image. The sandbox cannot be started while this
/// value lives. Clones are the same layer.
#[derive(Clone)]
pub struct SandboxLayer {
    contents: Arc<Contents>,
    diff_id: Digest,
    size_bytes: u64,
    notes: Arc<[LayerNote]>,
    notes_total: u64,
}

struct Contents {
    sandbox: DiskSide,
    plan: LayerPlan,
}

impl fmt::Debug for SandboxLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SandboxLayer").field(&self.diff_id).finish()
    }
}

impl SandboxLayer {
    /// Compares a stopped sandbox with an image: its own, or one that was made of it. The layer is
    /// digested and not kept.
    ///
    /// With `latest_mtime_s`, in seconds since the epoch, later modification times are replaced by
    /// it.
    ///
    /// # Errors
    /// If the sandbox runs, the disks cannot be read, a file cannot be part of a layer, or the layer
    /// has more than `max_bytes`.
    pub fn new(
        home: &Home,
        sandbox: &Sandbox,
        base: &StoredImage,
        latest_mtime_s: Option<i64>,
        max_bytes: u64,
    ) -> Result<Self, CommitError> {
        let name = || sandbox.spec.name.clone();
        let new = DiskSide::of_sandbox(sandbox, home).map_err(|error| match error {
            DiffError::Running { name } => CommitError::Running { name },
            source => CommitError::Disks {
                name: name(),
                source,
            },
        })?;
        let old = if base.record.manifest_digest == new.image().record.manifest_digest {
            new.image_below()
        } else {
            let name = base.record.manifest_digest.to_string();
            DiskSide::of_image(&name, base, home).map_err(|source| CommitError::Disks {
                name: sandbox.spec.name.clone(),
                source,
            })?
        };
        let options = LayerOptions {
            latest_mtime: latest_mtime_s.map(|seconds| Timestamp {
                seconds,
                nanoseconds: 0,
            }),
        };
        let layer_error = |source| CommitError::Layer {
            name: name(),
            source,
        };
        let plan = LayerPlan::new(&old, &new, &DiskRelation::new(&old, &new), options);
        let plan = plan.map_err(layer_error)?;
        drop(old);
        let written = plan
            .write(&new, Digesting::new(max_bytes))
            .map_err(layer_error)?;
        Ok(Self {
            diff_id: written.out.hasher.finish(),
            size_bytes: written.out.size_bytes,
            notes: written.notes.into(),
            notes_total: written.notes_total,
            contents: Arc::new(Contents { sandbox: new, plan }),
        })
    }

    /// Returns true if the sandbox changed nothing.
    pub fn is_empty(&self) -> bool {
        self.contents.plan.is_empty()
    }

    /// Returns the digest of the layer's uncompressed tar.
    pub const fn diff_id(&self) -> Digest {
        self.diff_id
    }

    /// Returns the length of the layer's uncompressed tar, in bytes.
    pub const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns the kept notes on files and attributes that the layer lacks, and the number of all.
    pub fn notes(&self) -> (&[LayerNote], u64) {
        (&self.notes, self.notes_total)
    }

    /// Returns the layer's uncompressed tar, which a thread writes while it is read.
    ///
    /// # Errors
    /// If the host has no pipe or no thread to give.
    pub fn open(&self) -> io::Result<LayerReader> {
        let contents = Arc::clone(&self.contents);
        LayerReader::new(move |out| {
            let written = contents.plan.write(&contents.sandbox, out);
            written.map(drop).map_err(io::Error::other)
        })
    }
}

/// An output that keeps a digest and a length. A guest can make a small disk read as a long layer, so
/// it takes no more than the bytes that an image's layer may have.
struct Digesting {
    hasher: Hasher,
    size_bytes: u64,
    max_bytes: u64,
}

impl Digesting {
    fn new(max_bytes: u64) -> Self {
        Self {
            hasher: Hasher::default(),
            size_bytes: 0,
            max_bytes,
        }
    }
}

impl Write for Digesting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.size_bytes = self.size_bytes.saturating_add(length_bytes);
        if self.size_bytes > self.max_bytes {
            let max_bytes = self.max_bytes;
            let message =
                format!("the layer has more than {max_bytes} bytes, the limit layer-bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        self.hasher.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
