use std::io;
use std::path::{Path, PathBuf};

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
