use std::sync::Arc;

use msb_client::{Error, ErrorKind, Text};
use msb_sandbox_files::{SandboxAtRest, SandboxFiles};

use crate::Handle;

/// The place that files are in: a sandbox, or a snapshot of it.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) handle: Arc<Handle>,
    /// The name of the snapshot; `None` for the sandbox as it is.
    pub(super) snapshot: Option<Arc<str>>,
    /// True if relative paths start at the root, not at the working directory.
    pub(super) is_from_root: bool,
}

impl Source {
    pub(super) const fn new(handle: Arc<Handle>, snapshot: Option<Arc<str>>) -> Self {
        Self {
            handle,
            snapshot,
            is_from_root: false,
        }
    }

    /// Returns a path from the root. An empty one, which is refused later, stays empty.
    pub(super) fn path(&self, path: Text) -> Text {
        let bytes = path.as_bytes();
        if bytes.is_empty() || bytes.starts_with(b"/") {
            return path;
        }
        let process = self.handle.stored().spec.process;
        let directory = process.working_directory.trim_end_matches('/');
        let directory = if self.is_from_root { "" } else { directory };
        Text::from([directory.as_bytes(), b"/", bytes].concat())
    }

    /// Opens the files: of the sandbox through its agent while it runs, otherwise from the disks.
    pub(super) async fn open(&self) -> Result<SandboxFiles, Error> {
        if let Some(snapshot) = &self.snapshot {
            return self.open_snapshot(Arc::clone(snapshot)).await;
        }
        match self.open_running().await {
            Err(error) if error.kind() == ErrorKind::NotRunning => {
                let stored = self.handle.stored();
                Ok(SandboxFiles::open(&stored, self.handle.shared().home()).await?)
            }
            opened => opened,
        }
    }

    async fn open_snapshot(&self, snapshot: Arc<str>) -> Result<SandboxFiles, Error> {
        let stored = self.handle.stored();
        let opening = self.handle.shared().with_home(move |shared| {
            let at_rest = SandboxAtRest::open_snapshot(&stored, &snapshot)?;
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

#[cfg(test)]
mod tests {
    use msb_client::Text;

    use crate::Files;
    use crate::testing::stopped_sandbox;

    #[test]
    fn a_relative_path_starts_at_the_working_directory() {
        let (_home, handle) = stopped_sandbox();
        let mut stored = handle.stored();
        stored.spec.process.working_directory = "/work/".to_owned();
        handle.replace(stored);
        let files = Files::new(handle);
        for (path, full) in [
            ("a/.", "/work/a/."),
            ("/a", "/a"),
            ("", ""),
            (".", "/work/."),
        ] {
            assert_eq!(files.source.path(Text::from(path)), Text::from(full));
        }
        let source = files.at_root().source;
        assert_eq!(source.path(Text::from("a")), Text::from("/a"));
    }
}
