//! The layer that a sandbox adds to an image.

mod committed;
mod error;
mod reader;

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fstree::Timestamp;
use image_store::StoredImage;
use msb_runtime::{Home, Mount, staged};
use oci_image::{Digest, Hasher};
use tree_diff::{LayerNote, LayerOptions, LayerPlan, PathFilter, Scope, compare};

pub use committed::CommittedImage;
pub use error::{CommitError, CommittedError};
pub use reader::LayerReader;

use crate::SandboxAtRest;
use crate::diff::{DiskRelation, DiskSide, filter, leave_out_given};
use crate::disks::Lower;

/// Limits of a layer that is made of a sandbox. A guest can make a small disk read as a long layer,
/// and a short layer as one that takes long to read.
#[derive(Debug, Clone, Copy)]
pub struct LayerLimits {
    /// The most bytes that the layer may have, uncompressed.
    pub bytes: u64,
    /// The longest time that it may take to read.
    pub time: Duration,
}

/// The changes that a layer has.
#[derive(Debug, Clone, Copy)]
pub struct LayerChoice<'a> {
    /// The patterns that choose among the changes.
    pub filter: &'a PathFilter,
    /// The latest modification time, in seconds since the epoch; later ones are replaced by it.
    pub latest_mtime_s: Option<i64>,
}

/// The changes of a sandbox as a layer of an image. A stopped sandbox cannot be started while this
/// value lives. Clones are the same layer.
#[derive(Clone)]
pub struct SandboxLayer {
    contents: Arc<Contents>,
    diff_id: Digest,
    size_bytes: u64,
    notes: Arc<[LayerNote]>,
    notes_total: u64,
    /// The note that the sandbox's staged directories are left out, if it has any.
    staged_note: Option<Arc<str>>,
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
    /// Compares a sandbox with an image: its own, or one that was made of it. The layer is digested
    /// and not kept.
    ///
    /// # Errors
    /// If the disks cannot be read, a file cannot be part of a layer, or the layer exceeds a limit.
    pub fn new(
        home: &Home,
        sandbox: SandboxAtRest,
        base: &StoredImage,
        choice: LayerChoice<'_>,
        limits: LayerLimits,
    ) -> Result<Self, CommitError> {
        let sandbox_name = sandbox.sandbox.spec.name.clone();
        let staged_note = staged_note(&sandbox.sandbox.spec.mounts);
        let name = || sandbox_name.clone();
        let disks_error = |source| CommitError::Disks {
            name: name(),
            source,
        };
        let new = DiskSide::of_sandbox(sandbox, home).map_err(disks_error)?;
        let is_own = matches!(
            new.lower_files(),
            Lower::Image(image) if image.record.manifest_digest == base.record.manifest_digest
        );
        let old = if is_own {
            new.image_below()
        } else {
            let image = base.record.manifest_digest.to_string();
            DiskSide::of_image(&image, base, home).map_err(disks_error)?
        };
        let options = LayerOptions {
            latest_mtime: choice.latest_mtime_s.map(|seconds| Timestamp {
                seconds,
                nanoseconds: 0,
            }),
        };
        let layer_error = |source| CommitError::Layer {
            name: name(),
            source,
        };
        let relation = DiskRelation::new(&old, &new);
        let changes = compare(&old, &new, &relation, &Scope::everything());
        let mut changes = changes.map_err(|error| layer_error(error.into()))?;
        leave_out_given(&mut changes, (&old, &new));
        filter(&mut changes, (&old, &new), choice.filter);
        let plan = LayerPlan::of_changes(&old, &new, &relation, &changes, options);
        drop(old);
        let written = plan
            .write(&new, Digesting::new(limits))
            .map_err(layer_error)?;
        Ok(Self {
            diff_id: written.out.hasher.finish(),
            size_bytes: written.out.size_bytes,
            notes: written.notes.into(),
            notes_total: written.notes_total,
            staged_note: staged_note.map(Arc::from),
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

    /// Returns the kept notes on files and attributes that the layer lacks, and the number of all. The first one is
    /// on the staged directories, if the sandbox has any.
    pub fn notes(&self) -> (Vec<String>, u64) {
        let mut notes: Vec<String> = self.staged_note.iter().map(ToString::to_string).collect();
        let total = self
            .notes_total
            .saturating_add(u64::from(!notes.is_empty()));
        notes.extend(self.notes.iter().map(ToString::to_string));
        (notes, total)
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

/// Returns the note that staged directories are no part of an image; `None` if there are none.
fn staged_note(mounts: &[Mount]) -> Option<String> {
    let targets = staged(mounts).map(|(mount, _)| mount.target.as_str());
    let targets: Vec<&str> = targets.collect();
    match targets.as_slice() {
        [] => None,
        [target] => Some(format!("the staged directory {target} is left out")),
        targets => Some(format!(
            "the staged directories {} are left out",
            targets.join(", ")
        )),
    }
}

/// An output that keeps a digest and a length, within limits.
struct Digesting {
    hasher: Hasher,
    size_bytes: u64,
    limits: LayerLimits,
    start: Instant,
}

impl Digesting {
    fn new(limits: LayerLimits) -> Self {
        Self {
            hasher: Hasher::default(),
            size_bytes: 0,
            limits,
            start: Instant::now(),
        }
    }
}

impl Write for Digesting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.size_bytes = self.size_bytes.saturating_add(length_bytes);
        let LayerLimits { bytes: most, time } = self.limits;
        if self.size_bytes > most {
            let message = format!("the layer has more than {most} bytes, the limit layer-bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        if self.start.elapsed() > time {
            let message = format!(
                "the layer takes longer than {} s, the limit layer-time",
                time.as_secs()
            );
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        self.hasher.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_ends_at_its_limits() {
        let write = |bytes, time| Digesting::new(LayerLimits { bytes, time }).write(b"four");
        let hour = Duration::from_secs(3600);
        assert_eq!(write(4, hour).expect("within them"), 4);
        for (bytes, time, limit) in [(3, hour, "layer-bytes"), (4, Duration::ZERO, "layer-time")] {
            let error = write(bytes, time).expect_err(limit).to_string();
            assert!(error.contains(limit), "{error}");
        }
    }
}
