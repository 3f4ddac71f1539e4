use std::io;
use std::path::{Path, PathBuf};

use diagnosis::{Diagnose, Diagnosis, ErrorKind, is_full_disk};

use crate::layout::Layout;
use crate::session;

/// The images of one `MSB_HOME`. Any number of processes may use it at once.
#[derive(Debug, Clone)]
pub struct Store {
    /// Paths of everything in the store.
    pub layout: Layout,
}

/// An error while the store is opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the store in {}", .home.display())]
pub struct OpenError {
    home: PathBuf,
    source: io::Error,
}

impl Diagnose for OpenError {
    fn diagnosis(&self) -> Diagnosis {
        if is_full_disk(&self.source) {
            return self.source.diagnosis();
        }
        Diagnosis::new(ErrorKind::PermissionDenied).hint(
            "msb keeps images and sandboxes there; set MSB_HOME to a directory that you can write",
        )
    }
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
}
