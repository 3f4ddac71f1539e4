//! Images that the host's kernel mounts.

use std::path::Path;
use std::process::Command;

use testkit::{TreeDump, unmount};

/// An image that is mounted until this value is dropped.
pub(crate) struct Mount(tempfile::TempDir);

impl Mount {
    pub(crate) fn new(image: &Path) -> Self {
        Self::with(image, "loop")
    }

    pub(crate) fn with(image: &Path, options: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let status = Command::new("mount")
            .args(["-t", "ext4", "-o", options])
            .arg(image)
            .arg(directory.path())
            .status()
            .expect("mount runs");
        assert!(status.success(), "the kernel does not mount the image");
        Self(directory)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn dump(&self) -> TreeDump {
        TreeDump::from_directory(self.path()).expect("the mount is readable")
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        assert!(unmount(self.0.path()) || std::thread::panicking());
    }
}

/// Runs a command that must succeed. Returns its standard output.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let cried = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{cried}");
    said
}

pub(crate) fn e2fsck(path: &Path) {
    succeed(Command::new("e2fsck").arg("-fn").arg(path));
}
