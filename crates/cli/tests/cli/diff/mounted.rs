//! A sandbox's disks in this machine's kernel, mounted as the guest's agent mounts them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::TestHome;

/// Mounts in their own directory, until this value is dropped.
pub(super) struct Mounts {
    directory: tempfile::TempDir,
    mounted: Vec<PathBuf>,
}

impl Mounts {
    /// Mounts the image of the home and the disk of its only sandbox.
    pub(super) fn new(home: &TestHome, image: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for name in ["image", "disk", "root"] {
            fs::create_dir(directory.path().join(name)).expect("made");
        }
        let mut mounts = Self {
            directory,
            mounted: Vec::new(),
        };
        let (flat, lower, disk) = (
            mounts.path("flat"),
            mounts.path("image"),
            mounts.path("disk"),
        );
        concatenate(home, image, &flat);
        mounts.mount("erofs", "ro,loop", &flat, &lower);
        mounts.mount("ext4", "loop", &upper(home), &disk);
        let options = format!(
            "lowerdir={},upperdir={}/upper,workdir={}/work,redirect_dir=on,index=on,metacopy=on,xino=on",
            lower.display(),
            disk.display(),
            disk.display()
        );
        let root = mounts.root();
        mounts.mount("overlay", &options, Path::new("overlay"), &root);
        mounts
    }

    pub(super) fn root(&self) -> PathBuf {
        self.path("root")
    }

    /// Returns the mount point of the sandbox's disk itself.
    pub(super) fn disk(&self) -> PathBuf {
        self.path("disk")
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
            assert!(testkit::unmount(place) || std::thread::panicking());
        }
    }
}

/// Writes the disk that the image's VMDK describes: the metadata, then the layers.
fn concatenate(home: &TestHome, image: &str, flat: &Path) {
    let inspected = home.msb(&["image", "inspect", image]);
    let record: serde_json::Value = serde_json::from_str(&inspected.stdout).expect("JSON");
    let layers = record["layers"].as_array().expect("a list");
    let paths = std::iter::once(&record["fsmeta"]).chain(layers);
    let mut out = fs::File::create(flat).expect("created");
    for path in paths {
        let path = path.as_str().expect("a path");
        std::io::copy(&mut fs::File::open(path).expect("there"), &mut out).expect("copied");
    }
}

/// Returns the disk of the home's only sandbox.
pub(super) fn upper(home: &TestHome) -> PathBuf {
    let sandboxes = fs::read_dir(home.path().join("home/sandboxes")).expect("listed");
    let directory = sandboxes
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.is_dir());
    directory.expect("a sandbox").join("upper.ext4")
}
