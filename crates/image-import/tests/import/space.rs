//! A full disk. The test mounts a small filesystem, which requires root.

use std::path::Path;
use std::process::Command;

use diagnosis::Diagnose as _;
use image_import::{LoadOptions, LoadSource};
use image_store::Store;

use crate::images::{TestImage, write_directory};
use crate::support::{SAMPLE_FILES, assert_good, line};

/// A tmpfs that is mounted until this is dropped.
struct SmallDisk {
    directory: tempfile::TempDir,
}

impl SmallDisk {
    fn new(size_kib: u32) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let size = format!("size={size_kib}k");
        run(
            "mount",
            &["-t", "tmpfs", "-o", &size, "tmpfs"],
            directory.path(),
        );
        Self { directory }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("-l")
            .arg(self.directory.path())
            .status();
    }
}

fn run(program: &str, arguments: &[&str], path: &Path) {
    let status = Command::new(program)
        .args(arguments)
        .arg(path)
        .status()
        .expect(program);
    assert!(
        status.success(),
        "{program} must be there and may only be run by root"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn oracle_a_full_disk_is_told_and_leaves_nothing_unfinished() {
    let source = tempfile::tempdir().expect("a directory");
    write_directory(&TestImage::sample().layout(Some("a:1")), source.path());
    let path = LoadSource::Path(source.path().to_owned());
    let (mut full, mut good) = (0, 0);
    for size_kib in (0..24).map(|step| 16 + step * 48) {
        let disk = SmallDisk::new(size_kib);
        let store = match Store::open(disk.directory.path()) {
            Ok(store) => store,
            Err(error) => {
                assert!(line(&error).contains("No space left"), "{}", line(&error));
                continue;
            }
        };
        match image_import::load(
            &store,
            &path,
            &LoadOptions::default(),
            std::sync::Arc::new(()),
        )
        .await
        {
            Ok(loaded) => {
                assert_good(&store, &loaded.images[0], &SAMPLE_FILES);
                good += 1;
            }
            Err(error) => {
                assert!(line(&error).contains("No space left"), "{}", line(&error));
                assert!(
                    error
                        .diagnosis()
                        .advice()
                        .is_some_and(|hint| hint.contains("make room")),
                    "{error:?}"
                );
                assert!(store.images().expect("listed").is_empty());
                full += 1;
            }
        }
        let left = fs_err::read_dir(disk.directory.path().join("store/v2/tmp")).expect("listed");
        assert_eq!(left.count(), 0, "{size_kib} KiB");
    }
    assert!(full > 3 && good > 3, "{full} full, {good} good");
}
