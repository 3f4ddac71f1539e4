//! The disks of a sandbox in the host's kernel, mounted as the guest's agent mounts them.

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::unmount;

/// Mounts in their own directory, until this value is dropped.
pub(crate) struct Mounts {
    directory: tempfile::TempDir,
    mounted: Vec<PathBuf>,
}

impl Mounts {
    pub(crate) fn new(disks: &Path) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for name in ["image", "disk", "root"] {
            std::fs::create_dir(directory.path().join(name)).expect("made");
        }
        let mut mounts = Self {
            directory,
            mounted: Vec::new(),
        };
        let (image, disk) = (mounts.path("image"), mounts.path("disk"));
        mounts.mount("erofs", "ro,loop", &disks.join("fsmeta.erofs"), &image);
        mounts.mount("ext4", "loop", &disks.join("upper.ext4"), &disk);
        // These inode numbers tell the files of both disks apart; nothing on a disk depends on
        // them.
        let options = format!(
            "lowerdir={},upperdir={}/upper,workdir={}/work,redirect_dir=on,index=on,metacopy=on,\
                xino=on",
            image.display(),
            disk.display(),
            disk.display()
        );
        let root = mounts.root();
        mounts.mount("overlay", &options, Path::new("overlay"), &root);
        mounts
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("root")
    }

    /// Syncs the upper disk (syncfs(2)).
    pub(crate) fn sync(&self) {
        let disk = std::fs::File::open(self.path("disk")).expect("opened");
        rustix::fs::syncfs(&disk).expect("synced");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn mount(&mut self, kind: &str, options: &str, what: &Path, place: &Path) {
        let output = Command::new("mount")
            .args(["-t", kind, "-o", options])
            .args([what, place])
            .output()
            .expect("mount runs");
        let cried = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cannot mount {kind}: {cried}");
        self.mounted.push(place.to_owned());
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for place in self.mounted.iter().rev() {
            assert!(unmount(place) || std::thread::panicking());
        }
    }
}
