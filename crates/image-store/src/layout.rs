//! The names and paths of everything in the store.

use std::io;
use std::path::{Path, PathBuf};

use oci_image::{Digest, Reference};

/// Version of the format of the store's directory. It is part of the directory's name, so a version
/// never reads the files of another.
pub const FORMAT_VERSION: u32 = 2;

/// Longest reference that becomes a file name without a digest, in bytes.
const PLAIN_NAME_MAX_BYTES: usize = 180;

/// Locks of groups: enough that sandboxes that start at once seldom wait for another group than their own. Each
/// machine has them open.
const UNIT_LOCKS: u32 = 16;

/// Directories of files that are written twice.
const ARTIFACTS: &str = "artifacts";
const IMAGES: &str = "images";
const REFERENCES: &str = "refs";
const ORIGINS: &str = "origins";

/// Paths of all files in the store; see `docs/store.md`.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// Returns the layout of the store in `home`.
    pub fn new(home: &Path) -> Self {
        Self {
            root: home.join("store").join(format!("v{FORMAT_VERSION}")),
        }
    }

    /// Creates the missing directories, durably.
    pub fn create(&self) -> io::Result<()> {
        let parts = [
            self.artifacts(),
            self.images(),
            self.references(),
            self.origins(),
            self.copies().join(ARTIFACTS),
            self.copies().join(IMAGES),
            self.copies().join(REFERENCES),
            self.copies().join(ORIGINS),
            self.stamps(),
            self.uses(),
            self.compressed(),
            self.temporary(),
            self.locks(),
        ];
        if parts.iter().all(|part| part.is_dir()) {
            return Ok(());
        }
        parts
            .iter()
            .try_for_each(|part| durable_files::ensure_directory(part))?;
        durable_files::sync_directory(&self.copies())?;
        // These are the store's root, the directory of all versions, and the home.
        self.root
            .ancestors()
            .take(3)
            .try_for_each(durable_files::sync_directory)
    }

    /// Returns the directory of the stores of all formats.
    pub fn stores(&self) -> PathBuf {
        self.root.parent().unwrap_or(&self.root).to_owned()
    }

    /// Returns the directory of all artifacts and their records.
    pub fn artifacts(&self) -> PathBuf {
        self.root.join(ARTIFACTS)
    }

    /// Returns the directory of the images' records.
    pub fn images(&self) -> PathBuf {
        self.root.join(IMAGES)
    }

    /// Returns the directory of the images' names.
    pub fn references(&self) -> PathBuf {
        self.root.join(REFERENCES)
    }

    /// Returns the directory of the images' origins.
    pub fn origins(&self) -> PathBuf {
        self.root.join(ORIGINS)
    }

    /// Returns the directory of the copies of records, names and origins.
    pub fn copies(&self) -> PathBuf {
        self.root.join("copies")
    }

    /// Returns the directory of the stamps.
    pub fn stamps(&self) -> PathBuf {
        self.root.join("stamps")
    }

    /// Returns the directory of the times of use.
    pub fn uses(&self) -> PathBuf {
        self.root.join("used")
    }

    /// Returns the directory of the records of blobs that layers were compressed to.
    pub fn compressed(&self) -> PathBuf {
        self.root.join("compressed")
    }

    /// Returns the directory of the sessions.
    pub fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Returns the directory of the lock files.
    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// Returns the path of an artifact, or of its record.
    pub fn artifact(&self, file: &str) -> PathBuf {
        self.artifacts().join(file)
    }

    /// Returns the path of an image's record.
    pub fn image(&self, manifest: &Digest) -> PathBuf {
        self.images().join(format!("{}.json", manifest.hex()))
    }

    /// Returns the path of the file that resolves a name.
    pub fn reference(&self, reference: &Reference) -> PathBuf {
        self.references().join(format!(
            "{}.json",
            file_name(&reference.canonical().to_string())
        ))
    }

    /// Returns the path of the record of an image's origin.
    pub fn origin(&self, manifest: &Digest) -> PathBuf {
        self.origins().join(format!("{}.json", manifest.hex()))
    }

    /// Returns the path of the copy of the record at `path`.
    pub fn copy(&self, path: &Path) -> PathBuf {
        self.copies().join(self.relative(path))
    }

    /// Returns the path of an artifact's stamp, which proves that it was not changed since it was
    /// digested.
    pub fn stamp(&self, file: &str) -> PathBuf {
        self.stamps().join(file)
    }

    /// Returns the path of the file whose time is the last use of an image.
    pub fn used(&self, manifest: &Digest) -> PathBuf {
        self.uses().join(manifest.hex())
    }

    /// Returns a path in the store from a path relative to its root.
    pub fn below(&self, relative: &Path) -> PathBuf {
        self.root.join(relative)
    }

    /// Returns a path in the store relative to its root.
    pub fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// Returns the path of the store's lock, which pulls and loads share and a removal has alone.
    pub fn store_lock(&self) -> PathBuf {
        self.locks().join("store")
    }

    /// Returns the path of the lock that is held for an instant, while a session begins or
    /// leftovers are looked for.
    pub fn sweep_lock(&self) -> PathBuf {
        self.locks().join("sweep")
    }

    /// Returns the paths of the locks of the groups that processes decompress into cache files.
    pub fn unit_locks(&self) -> impl Iterator<Item = PathBuf> {
        (0..UNIT_LOCKS).map(move |number| self.locks().join(format!("unit-{number}")))
    }

    /// Returns the path of the lock of the process that maintains the store.
    pub fn maintenance_lock(&self) -> PathBuf {
        self.locks().join("maintenance")
    }

    /// Returns the path of the file whose time is the last maintenance of the store.
    pub fn maintained(&self) -> PathBuf {
        self.root.join("maintained")
    }

    /// Returns the path of the lock for making the artifacts of a layer or of a chain of layers.
    pub fn artifact_lock(&self, key: &Digest) -> PathBuf {
        self.locks().join(format!("{}.lock", key.hex()))
    }

    /// Returns the path of an image's lock, which all users of the image share.
    pub fn image_lock(&self, manifest: &Digest) -> PathBuf {
        self.locks().join(format!("image-{}.lock", manifest.hex()))
    }
}

/// Returns the file name of a layer's artifact.
pub fn layer_file(diff_id: &Digest) -> String {
    format!("{}.erofs", diff_id.hex())
}

/// Returns the file name of a layer's outline.
pub fn outline_file(diff_id: &Digest) -> String {
    format!("{}.outline", diff_id.hex())
}

/// Returns the file name of a chain's merged metadata.
pub fn fsmeta_file(chain: &Digest) -> String {
    format!("{}.fsmeta.erofs", chain.hex())
}

/// Returns the file name of the tree of an EROFS image, a layer or merged metadata.
pub fn tree_file(erofs_file: &str) -> String {
    let stem = erofs_file.strip_suffix(".erofs").unwrap_or(erofs_file);
    format!("{stem}.tree")
}

/// Returns the file name of the packed form of a layer.
pub fn packed_file(erofs_file: &str) -> String {
    let stem = erofs_file.strip_suffix(".erofs").unwrap_or(erofs_file);
    format!("{stem}.packed")
}

/// Returns the file name of the cache file of a packed layer.
pub fn cache_file(erofs_file: &str) -> String {
    let stem = erofs_file.strip_suffix(".erofs").unwrap_or(erofs_file);
    format!("{stem}.cache")
}

/// Returns true if a file of the artifacts is a cache file, which is sparse.
pub fn is_cache_file(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|extension| extension == "cache")
}

/// Returns the file name of the VMDK descriptor for the disk of a chain.
pub fn vmdk_file(chain: &Digest) -> String {
    format!("{}.vmdk", chain.hex())
}

/// Returns the file name of an image's manifest, as it came.
pub fn manifest_file(manifest: &Digest) -> String {
    format!("{}.manifest", manifest.hex())
}

/// Returns the file name of an image's config, as it came.
pub fn config_file(config: &Digest) -> String {
    format!("{}.config", config.hex())
}

/// Returns the file name of the record of a layer or a chain.
pub fn record_file(key: &Digest) -> String {
    format!("{}.json", key.hex())
}

/// Returns true if a file of the artifacts is such a record.
pub fn is_record_file(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|extension| extension == "json")
}

/// Returns the key of an ordered list of layers in this format version.
pub fn chain_key<'a>(diff_ids: impl IntoIterator<Item = &'a Digest>) -> Digest {
    let mut text = format!("msb store v{FORMAT_VERSION}\n");
    for diff_id in diff_ids {
        text.push_str(&diff_id.to_string());
        text.push('\n');
    }
    Digest::compute(text.as_bytes())
}

/// Returns a reference as a file name. Bytes other than letters, digits, `.`, `-` and `_` are
/// percent-encoded; a long name ends with a digest instead of its end.
fn file_name(reference: &str) -> String {
    let mut name = String::new();
    for byte in reference.bytes() {
        if byte.is_ascii_alphanumeric() || b".-_".contains(&byte) {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.len() > PLAIN_NAME_MAX_BYTES {
        name.truncate(PLAIN_NAME_MAX_BYTES - 65);
        name.push('~');
        name.push_str(&Digest::compute(reference.as_bytes()).hex());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_plain_and_distinct_file_names() {
        assert_eq!(file_name("[::1]:5000/a:b"), "%5B%3A%3A1%5D%3A5000%2Fa%3Ab");
        let (one, other) = (file_name(&"a/".repeat(120)), file_name(&"a/".repeat(121)));
        assert!(one.len() <= PLAIN_NAME_MAX_BYTES && one != other);
    }

    #[test]
    fn a_chain_depends_on_the_order_of_its_layers() {
        let (a, b) = (Digest::compute(b"a"), Digest::compute(b"b"));
        assert_ne!(chain_key([&a, &b]), chain_key([&b, &a]));
        assert_ne!(chain_key([&a]), chain_key([&a, &a]));
    }
}
