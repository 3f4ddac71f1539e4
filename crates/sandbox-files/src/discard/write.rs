//! The new upper disk of a stopped sandbox, which is written beside the old one and takes its place.

use std::path::Path;

use ext4_writer::{Layout, WriteError};
use msb_runtime::{NewDisk, UpperPool, upper_options};
use msb_sandbox_snapshots::{SandboxSnapshots, SnapshotError, StagedDisk};

use super::native::NewUpper;
use super::{DiscardError, Discarding};

impl Discarding<'_> {
    /// Writes the new upper disk, and puts it in the place of the old one, over the image of staged directories that is
    /// below that, or over a new one. `readers` read the old one.
    pub(crate) fn write_upper<T>(
        &self,
        upper: NewUpper,
        pool: &UpperPool,
        readers: T,
        new_image: Option<&Path>,
    ) -> Result<(), DiscardError> {
        let written = self.stage_upper(&upper, pool)?;
        drop((upper, readers));
        let snapshots = SandboxSnapshots::new(self.sandbox.clone());
        let replaced = written.replace(&snapshots, pool, new_image);
        replaced.map_err(|source| self.snapshot_error(source))
    }

    /// Writes the new upper disk beside the old one.
    fn stage_upper(&self, upper: &NewUpper, pool: &UpperPool) -> Result<StagedDisk, DiscardError> {
        let old_bytes = pool.size_bytes().map_err(SnapshotError::from);
        let old_bytes = old_bytes.map_err(|source| self.snapshot_error(source))?;
        // A disk that was to be larger from the next start on is that now.
        let size_bytes = self.sandbox.spec.upper_bytes.max(old_bytes);
        let options = upper_options(&self.sandbox.spec, size_bytes);
        let layout_error = |source| self.layout_error(source, size_bytes);
        let layout = Layout::new(&upper.tree, &options).map_err(layout_error)?;
        let base = upper.base(layout.outside(), size_bytes);
        let write = |output: NewDisk<'_>| layout.write(output).map(drop);
        let snapshots = SandboxSnapshots::new(self.sandbox.clone());
        let written = snapshots.stage_disk(size_bytes, base.as_ref(), write);
        let written = written.map_err(|source| self.snapshot_error(source))?;
        written.map_err(layout_error)
    }

    pub(crate) fn snapshot_error(&self, source: SnapshotError) -> DiscardError {
        DiscardError::Generations {
            name: self.sandbox.spec.name.clone(),
            source,
        }
    }

    fn layout_error(&self, source: WriteError, size_bytes: u64) -> DiscardError {
        let name = self.sandbox.spec.name.clone();
        match source {
            WriteError::Full { .. } => DiscardError::Full { name, size_bytes },
            source => DiscardError::Layout { name, source },
        }
    }
}
