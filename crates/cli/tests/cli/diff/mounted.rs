//! A sandbox's disks in this machine's kernel, mounted as the guest's agent mounts them.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::SandboxMounts;

use crate::support::{TestHome, disk_file};

/// Mounts the image of the home and the disk of its only sandbox.
pub(super) fn mount_disks(home: &TestHome, image: &str) -> SandboxMounts {
    let flat = tempfile::NamedTempFile::new().expect("a temporary file");
    concatenate(home, image, flat.path());
    // The mount keeps the file, whose name is not needed any more.
    SandboxMounts::new(flat.path(), &upper(home))
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
    disk_file(&directory.expect("a sandbox"))
}
