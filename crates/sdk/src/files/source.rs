use std::sync::Arc;

use msb_runtime::SandboxFiles;

use crate::sandboxes::Handle;
use crate::{Error, ErrorKind};

/// The place that files are in: a sandbox, or a snapshot of it.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) handle: Arc<Handle>,
    /// The name of the snapshot; `None` for the sandbox as it is.
    pub(super) snapshot: Option<Arc<str>>,
}

impl Source {
    /// Opens the files: of the sandbox through its agent while it runs, otherwise from the disks.
    pub(super) async fn open(&self) -> Result<SandboxFiles, Error> {
        if let Some(snapshot) = &self.snapshot {
            return self.open_snapshot(Arc::clone(snapshot)).await;
        }
        match self.open_running().await {
            Err(error) if error.kind() == ErrorKind::NotRunning => {
                let stored = self.handle.stored();
                Ok(stored.files(self.handle.shared().home()).await?)
            }
            opened => opened,
        }
    }

    async fn open_snapshot(&self, snapshot: Arc<str>) -> Result<SandboxFiles, Error> {
        let stored = self.handle.stored();
        let opening = self.handle.shared().with_home(move |shared| {
            let at_rest = stored.at_snapshot(&snapshot)?;
            let name = format!("{}@{snapshot}", stored.spec.name);
            Ok::<_, Error>(SandboxFiles::of_snapshot(name, at_rest, shared.home())?)
        });
        opening.await
    }

    /// Opens the files of the running sandbox.
    async fn open_running(&self) -> Result<SandboxFiles, Error> {
        let client = self.handle.connect().await?;
        Ok(SandboxFiles::from_running(&self.handle.name(), client))
    }
}
