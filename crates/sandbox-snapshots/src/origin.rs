//! The disk of a sandbox at one moment, as new sandboxes begin with it.

use std::path::PathBuf;

use generations::State;
use msb_guest_trust::TrustFiles;
use msb_runtime::{
    AdoptError, CreateError, GenerationsLock, Lock, ReadLock, SandboxPaths, Spec, UpperPool,
    share_base,
};

use super::layer::StagedLayer;
use super::live::blocking;
use super::record::Records;
use super::{SandboxSnapshots, SnapshotError, cut_disk};

/// The disk of a sandbox at one moment. Its files stay while this value lives, and if the sandbox is
/// stopped, that is neither started nor removed.
#[derive(Debug)]
pub struct Origin {
    /// The description of the sandbox.
    pub spec: Spec,
    /// The files that its programs' trust depends on.
    pub trust: TrustFiles,
    pub(super) pool: UpperPool,
    pub(super) state: State,
    /// The path of the disk that the sandbox began with, if it has one.
    pub(super) base: PathBuf,
    /// The images of its staged directories; `None` if it has no such directory.
    pub(super) staged: Option<StagedLayer>,
    pub(super) _keeping: GenerationsLock,
    pub(super) _stopped: Option<Stopped>,
}

/// The right by which a stopped sandbox stays as it is.
#[derive(Debug)]
pub(super) enum Stopped {
    Cut(#[expect(dead_code, reason = "it is held, not used")] Lock),
    Read(#[expect(dead_code, reason = "it is held, not used")] ReadLock),
}

impl SandboxSnapshots {
    /// Returns the disk as it is in a snapshot, or as it is now if none is named. The guest of a running sandbox is
    /// asked to freeze its filesystem, if `can_freeze`.
    ///
    /// # Errors
    /// If there is no such snapshot, or the disk cannot be cut.
    pub async fn origin(
        &self,
        snapshot: Option<String>,
        can_freeze: bool,
    ) -> Result<Origin, SnapshotError> {
        let sandbox = self.clone();
        let Some(snapshot) = snapshot else {
            let cut = blocking(move || sandbox.origin_of_stopped()).await;
            return match cut {
                Err(SnapshotError::Running { .. }) => self.origin_of_running(can_freeze).await,
                cut => cut,
            };
        };
        blocking(move || sandbox.origin_of_snapshot(&snapshot)).await
    }

    fn origin_of_snapshot(&self, snapshot: &str) -> Result<Origin, SnapshotError> {
        let name = self.snapshot_name(snapshot)?;
        let stopped = self.read_lock()?.map(Stopped::Read);
        let pool = UpperPool::find(&self.files)?.ok_or(SnapshotError::NoDisk)?;
        let keeping = pool.keep_generations()?;
        let records = Records::new(&self.files);
        let state = records.read(&name)?.state(records.path(&name))?;
        Ok(Origin {
            spec: Spec::read(&self.files.directory)?,
            trust: TrustFiles::read(&self.files.directory)?,
            pool,
            base: self.files.base(),
            staged: StagedLayer::below(&self.files, &state)?,
            state,
            _keeping: keeping,
            _stopped: stopped,
        })
    }

    fn origin_of_stopped(&self) -> Result<Origin, SnapshotError> {
        let (sandbox, lock) = self.claim_stopped()?;
        let pool = UpperPool::adopt(&sandbox.files)?;
        let keeping = pool.keep_generations()?;
        let state = cut_disk(&pool)?;
        Ok(Origin {
            base: sandbox.files.base(),
            staged: StagedLayer::below(&sandbox.files, &state)?,
            state,
            spec: sandbox.spec.clone(),
            trust: TrustFiles::read(&sandbox.files.directory)?,
            pool,
            _keeping: keeping,
            _stopped: Some(Stopped::Cut(lock)),
        })
    }
}

impl Origin {
    /// Returns the size of the disk, in bytes.
    pub const fn size_bytes(&self) -> u64 {
        self.state.size_bytes
    }

    /// Makes the disk of a new sandbox, which begins with this one.
    pub(crate) fn write_disk(&self, files: &SandboxPaths) -> Result<(), CreateError> {
        let staged = || {
            self.staged
                .as_ref()
                .map_or(Ok(()), |staged| staged.share(files))
        };
        let shared = share_base(&self.base, files).and_then(|()| staged());
        shared
            .map_err(AdoptError::from)
            .and_then(|()| self.pool.fork(&self.state, files))
            .map_err(CreateError::Share)
    }
}
