//! The store on disk: its layout, and how files are written to it.

pub(crate) mod artifacts;
pub(crate) mod assemble;
mod check;
pub(crate) mod durable;
mod find;
mod hold;
mod inventory;
pub(crate) mod kept;
pub(crate) mod layout;
pub(crate) mod lock;
mod look;
pub(crate) mod origin;
mod prune;
pub(crate) mod record;
mod remove;
mod repair;
mod seal;
pub(crate) mod session;
pub(crate) mod stamp;
mod usage;
pub(crate) mod used;
mod verify;

use std::io;
use std::path::{Path, PathBuf};

pub use assemble::{AssembleError, StoredLayerError};
pub use check::CheckError;
pub use find::{FindError, ImageSummary};
pub use hold::Hold;
pub use layout::FORMAT_VERSION;
pub use origin::Origin;
pub use prune::{PruneError, PruneOptions, Pruned, PrunedImage, Pruning};
pub use record::{ErofsRecord, ImageRecord, LayerRecord, StoredImage, VmdkRecord};
pub use remove::{Needed, RemoveError, Removed};
pub use repair::{Repair, RepairError};
pub use stamp::Trust;
pub use usage::{ImageUsage, Usage};
pub use verify::{Damage, Part, Problem, Verification, VerifyError};

use layout::Layout;

/// The images of one `MSB_HOME`. Any number of processes may use it at once.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) layout: Layout,
}

/// An error while the store is opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the store in {}", .home.display())]
pub struct OpenError {
    home: PathBuf,
    source: io::Error,
}

impl Store {
    /// Opens the store in `home`, which is created if necessary, and removes the leftovers of
    /// processes that no longer run.
    ///
    /// # Errors
    /// If `home` cannot be written.
    pub fn open(home: &Path) -> Result<Self, OpenError> {
        let error = |source| OpenError {
            home: home.to_owned(),
            source,
        };
        let layout = Layout::new(home);
        layout.create().map_err(error)?;
        session::sweep(&layout).map_err(error)?;
        Ok(Self { layout })
    }

    /// Returns the directory that contains all artifacts.
    pub fn artifacts_directory(&self) -> PathBuf {
        self.layout.artifacts()
    }
}
