use std::fs::File;

use generations::{FileStorage, Snapshot, State};
use msb_runtime::UpperPool;

use super::layer::StagedLayer;
use super::{SandboxSnapshots, SnapshotError};

/// A state of a sandbox's disk that is open to be read, with the images below it. The sandbox may run, and the state
/// may be removed.
#[derive(Debug)]
pub struct OpenState {
    /// The disk.
    pub disk: Snapshot<FileStorage>,
    /// The images of the staged directories: that of the directories first, then those of files that were let in.
    /// Empty if the sandbox has no staged directory.
    pub staged: Vec<File>,
}

impl SandboxSnapshots {
    /// Opens a state. The caller keeps its generations meanwhile.
    pub(crate) fn open_state(
        &self,
        pool: &UpperPool,
        state: &State,
    ) -> Result<OpenState, SnapshotError> {
        let disk = pool.pool.open_snapshot(state)?;
        let layer = StagedLayer::below(&self.files, state)?;
        let staged = layer.map_or_else(|| Ok(Vec::new()), |layer| layer.open())?;
        Ok(OpenState { disk, staged })
    }
}
