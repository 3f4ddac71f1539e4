//! Helpers that the tests share: a store to fill, an archive to fill it from, and checks of its
//! state.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fs_err as fs;
use image_import::{
    LoadError, LoadOptions, LoadSource, Loaded, PullError, PullOptions, load, pull,
};
use image_store::{Store, StoredImage};
use oci_image::Reference;
use oci_registry::{CredentialSource, RegistryLimits};
use tempfile::TempDir;

/// A store in its own directory.
#[derive(Debug)]
pub(crate) struct TestStore {
    pub(crate) home: TempDir,
    pub(crate) store: Store,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let store = Store::open(home.path()).expect("a store");
        Self { home, store }
    }

    pub(crate) async fn pull(&self, reference: &str) -> Result<StoredImage, PullError> {
        self.pull_with(reference, quick()).await
    }

    pub(crate) async fn pull_with(
        &self,
        reference: &str,
        options: PullOptions,
    ) -> Result<StoredImage, PullError> {
        let reference: Reference = reference.parse().expect("a reference");
        pull(&self.store, &reference, &options, Arc::new(())).await
    }

    pub(crate) async fn load(&self, path: &Path) -> Result<Vec<StoredImage>, LoadError> {
        self.load_with(path, LoadOptions::default()).await
    }

    pub(crate) async fn load_with(
        &self,
        path: &Path,
        options: LoadOptions,
    ) -> Result<Vec<StoredImage>, LoadError> {
        self.load_all(path, options)
            .await
            .map(|loaded| loaded.images)
    }

    /// Loads an archive, and returns what was skipped as well.
    pub(crate) async fn load_all(
        &self,
        path: &Path,
        options: LoadOptions,
    ) -> Result<Loaded, LoadError> {
        let source = LoadSource::Path(path.to_owned());
        load(&self.store, &source, &options, Arc::new(())).await
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.home.path().join("store/v2")
    }

    /// Returns every file of the store by its path, except the locks that stay, and stamps,
    /// which are empty.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.root(), &self.root(), &mut files);
        files.remove("locks/store");
        files.remove("locks/sweep");
        files.remove("locks/maintenance");
        files.retain(|path, _| !path.starts_with("stamps/"));
        files
    }

    /// Returns the artifacts by their path, except manifests: the same disk may have others.
    pub(crate) fn artifacts(&self) -> Vec<(String, Vec<u8>)> {
        let is_of_disk =
            |path: &str| path.starts_with("artifacts/") && !path.ends_with(".manifest");
        let files = self.files().into_iter();
        files.filter(|(path, _)| is_of_disk(path)).collect()
    }

    /// Checks that the store contains no unfinished file and no lock.
    pub(crate) fn assert_tidy(&self) {
        let files = self.files();
        let stray: Vec<&String> = files
            .keys()
            .filter(|path| path.starts_with("tmp/") || path.starts_with("locks/"))
            .collect();
        assert!(stray.is_empty(), "{stray:?}");
        assert_eq!(
            fs::read_dir(self.root().join("tmp"))
                .expect("listed")
                .count(),
            0
        );
    }

    /// Checks that the store is as empty as a new one.
    pub(crate) fn assert_empty(&self) {
        assert!(self.files().is_empty(), "{:?}", self.files().keys());
        let stamps = fs::read_dir(self.root().join("stamps")).expect("listed");
        assert_eq!(stamps.count(), 0);
        self.assert_tidy();
    }
}

/// Returns options without credentials and with short timeouts.
pub(crate) fn quick() -> PullOptions {
    PullOptions {
        credentials: CredentialSource::None,
        registry_limits: RegistryLimits {
            first_pause: Duration::from_millis(2),
            pause: Duration::from_millis(50),
            idle: Duration::from_secs(4),
            ..RegistryLimits::default()
        },
        ..PullOptions::default()
    }
}

fn collect(root: &Path, directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).expect("listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path
                .strip_prefix(root)
                .expect("below the root")
                .display()
                .to_string();
            files.insert(name, fs::read(&path).expect("read"));
        }
    }
}

/// Returns an error and its causes on one line.
pub(crate) fn line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    line
}

/// Checks that the image's artifacts are intact and contain these files.
pub(crate) fn assert_good(store: &Store, image: &StoredImage, files: &[(&str, u64)]) {
    store
        .check(image)
        .unwrap_or_else(|error| panic!("{}", line(&error)));
    let file = fs::File::open(&image.fsmeta)
        .expect("opened")
        .into_parts()
        .0;
    let tree = erofs_writer::Image::open(file)
        .expect("an image")
        .read_tree()
        .expect("a tree");
    for (name, size_bytes) in files {
        let id = tree
            .find(name.as_bytes())
            .unwrap_or_else(|| panic!("no {name}"));
        match &tree.inode(id).kind {
            fstree::FileKind::Regular(data) => assert_eq!(data.size_bytes, *size_bytes, "{name}"),
            other => panic!("{name} is {other:?}"),
        }
    }
}

/// Files of the sample image.
pub(crate) const SAMPLE_FILES: [(&str, u64); 4] = [
    ("greeting", 8),
    ("noise", 800_000),
    ("empty", 0),
    ("last", 5),
];
