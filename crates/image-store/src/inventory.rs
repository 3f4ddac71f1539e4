use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use fs_err as fs;
use oci_image::Digest;

use super::record::{self, ImageRecord};
use super::verifier::whole_image;
use super::{Store, layout};

/// Artifacts of the store, and the images that need them.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    images: BTreeMap<Digest, ImageRecord>,
    /// Artifacts by file name.
    artifacts: BTreeMap<String, Artifact>,
}

/// Length of an artifact in bytes, of a cache file its allocated space, and the number of images that need it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Artifact {
    pub(crate) size_bytes: u64,
    pub(crate) users: usize,
}

impl Inventory {
    /// Reads the whole store. No image may be removed meanwhile.
    ///
    /// An image whose record is damaged is read from the copy. If the copy is damaged too, the
    /// artifacts of the image are not known, which is an error.
    pub(crate) fn take(store: &Store) -> io::Result<Self> {
        let mut inventory = Self::default();
        for entry in fs::read_dir(store.layout.artifacts())? {
            let entry = entry?;
            let metadata = match entry.metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            let name = entry.file_name().to_string_lossy().into_owned();
            let size_bytes = if layout::is_cache_file(&name) {
                durable_files::allocated_bytes(&metadata)
            } else {
                metadata.len()
            };
            let artifact = Artifact {
                size_bytes,
                users: 0,
            };
            inventory.artifacts.insert(name, artifact);
        }
        for digest in store.digests()? {
            let path = store.layout.image(&digest);
            let Some(record) = whole_image(&store.layout, &digest) else {
                return Err(record::invalid(&path, "and so is its copy"));
            };
            for file in files_of(&record) {
                if let Some(artifact) = inventory.artifacts.get_mut(&file) {
                    artifact.users += 1;
                }
            }
            inventory.images.insert(digest, record);
        }
        Ok(inventory)
    }

    pub(crate) const fn images(&self) -> &BTreeMap<Digest, ImageRecord> {
        &self.images
    }

    /// Returns the artifacts of an image, each once.
    pub(crate) fn artifacts_of(&self, record: &ImageRecord) -> Vec<Artifact> {
        let files = files_of(record);
        files
            .iter()
            .filter_map(|file| self.artifacts.get(file).copied())
            .collect()
    }

    /// Removes an image from the inventory. Returns the length of the artifacts that no image needs
    /// since, in bytes.
    pub(crate) fn forget(&mut self, digest: &Digest) -> u64 {
        let Some(record) = self.images.remove(digest) else {
            return 0;
        };
        let mut freed_bytes = 0;
        for file in files_of(&record) {
            if let Some(artifact) = self.artifacts.get_mut(&file) {
                artifact.users -= 1;
                if artifact.users == 0 {
                    freed_bytes += artifact.size_bytes;
                }
            }
        }
        freed_bytes
    }

    /// Returns the length of all artifacts that images need, in bytes.
    pub(crate) fn needed_bytes(&self) -> u64 {
        let needed = self.artifacts.values().filter(|file| file.users > 0);
        needed.map(|file| file.size_bytes).sum()
    }

    /// Returns the length of the artifacts with this extension that images need, in bytes.
    pub(crate) fn needed_bytes_of(&self, extension: &str) -> u64 {
        let is_of = |name: &str| {
            let found = Path::new(name).extension();
            found.is_some_and(|found| found == extension)
        };
        let needed = self.artifacts.iter();
        let needed = needed.filter(|(name, file)| file.users > 0 && is_of(name));
        needed.map(|(_, file)| file.size_bytes).sum()
    }

    /// Returns the artifacts that no image needs, by file name, with their lengths in bytes.
    pub(crate) fn unneeded(&self) -> impl Iterator<Item = (&str, u64)> {
        let unneeded = self.artifacts.iter().filter(|(_, file)| file.users == 0);
        unneeded.map(|(name, file)| (name.as_str(), file.size_bytes))
    }
}

/// Returns the files of the artifacts that an image needs, each once. A layer has some of its forms.
pub(crate) fn files_of(record: &ImageRecord) -> BTreeSet<String> {
    let mut files = boot_files_of(record);
    files.insert(layout::manifest_file(&record.manifest_digest));
    files.insert(layout::config_file(&record.config_digest));
    for layer in &record.layers {
        files.insert(layout::outline_file(&layer.diff_id));
        files.insert(layout::packed_file(&layer.erofs.file));
        files.insert(layout::cache_file(&layer.erofs.file));
    }
    files
}

/// Returns the files of the artifacts that a boot of an image needs, each once. Layers are plain ones.
pub(crate) fn boot_files_of(record: &ImageRecord) -> BTreeSet<String> {
    let mut files = BTreeSet::from([
        record.fsmeta.file.clone(),
        record.vmdk.file.clone(),
        layout::record_file(&record.chain_key),
    ]);
    for layer in &record.layers {
        files.insert(layer.erofs.file.clone());
        files.insert(layout::record_file(&layer.diff_id));
    }
    let images = record.erofs_images();
    files.extend(images.map(|erofs| layout::tree_file(&erofs.file)));
    files
}
