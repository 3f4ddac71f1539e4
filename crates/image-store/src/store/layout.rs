use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;

use super::durable;
use crate::digest::Digest;
use crate::reference::Reference;

/// Version of everything below the store's directory. It is part of that directory's name, so that
/// no version ever reads what another wrote.
pub const FORMAT_VERSION: u32 = 2;

/// Longest file name that is used as it is, in bytes.
const PLAIN_NAME_MAX_BYTES: usize = 180;

/// Directories of records that are written twice.
const IMAGES: &str = "images";
const REFERENCES: &str = "refs";
const ORIGINS: &str = "origins";

/// Where everything lies; see `docs/store.md`.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(crate) fn new(home: &Path) -> Self {
        Self {
            root: home.join("store").join(format!("v{FORMAT_VERSION}")),
        }
    }

    /// Makes the directories that are missing, durably.
    pub(crate) fn create(&self) -> io::Result<()> {
        let parts = [
            self.artifacts(),
            self.images(),
            self.references(),
            self.origins(),
            self.copies().join(IMAGES),
            self.copies().join(REFERENCES),
            self.copies().join(ORIGINS),
            self.stamps(),
            self.uses(),
            self.temporary(),
            self.locks(),
        ];
        if parts.iter().all(|part| part.is_dir()) {
            return Ok(());
        }
        parts.iter().try_for_each(|part| make_directory(part))?;
        durable::sync_directory(&self.copies())?;
        // The store's root, the directory of all versions, the home.
        self.root
            .ancestors()
            .take(3)
            .try_for_each(durable::sync_directory)
    }

    pub(crate) fn artifacts(&self) -> PathBuf {
        self.root.join("artifacts")
    }

    pub(crate) fn images(&self) -> PathBuf {
        self.root.join(IMAGES)
    }

    pub(crate) fn references(&self) -> PathBuf {
        self.root.join(REFERENCES)
    }

    pub(crate) fn origins(&self) -> PathBuf {
        self.root.join(ORIGINS)
    }

    pub(crate) fn copies(&self) -> PathBuf {
        self.root.join("copies")
    }

    pub(crate) fn stamps(&self) -> PathBuf {
        self.root.join("stamps")
    }

    pub(crate) fn uses(&self) -> PathBuf {
        self.root.join("used")
    }

    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    pub(crate) fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    pub(crate) fn artifact(&self, file: &str) -> PathBuf {
        self.artifacts().join(file)
    }

    pub(crate) fn image(&self, manifest: &Digest) -> PathBuf {
        self.images().join(format!("{}.json", manifest.hex()))
    }

    pub(crate) fn reference(&self, reference: &Reference) -> PathBuf {
        self.references().join(format!(
            "{}.json",
            file_name(&reference.canonical().to_string())
        ))
    }

    /// Where an image was taken from.
    pub(crate) fn origin(&self, manifest: &Digest) -> PathBuf {
        self.origins().join(format!("{}.json", manifest.hex()))
    }

    /// The copy of the record at `path`.
    pub(crate) fn copy(&self, path: &Path) -> PathBuf {
        self.copies().join(self.relative(path))
    }

    /// Says of an artifact that it has not changed since it was digested.
    pub(crate) fn stamp(&self, file: &str) -> PathBuf {
        self.stamps().join(file)
    }

    /// Says when an image was last used.
    pub(crate) fn used(&self, manifest: &Digest) -> PathBuf {
        self.uses().join(manifest.hex())
    }

    /// The path of something below the store.
    pub(crate) fn below(&self, relative: &Path) -> PathBuf {
        self.root.join(relative)
    }

    /// A path below the store, from its root.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// Shared by pulls and loads, exclusive for removals.
    pub(crate) fn store_lock(&self) -> PathBuf {
        self.locks().join("store")
    }

    /// Held for the instant in which a session begins or left-overs are looked for.
    pub(crate) fn sweep_lock(&self) -> PathBuf {
        self.locks().join("sweep")
    }

    /// Held by whoever makes the artifacts of a layer or of a chain of layers.
    pub(crate) fn artifact_lock(&self, key: &Digest) -> PathBuf {
        self.locks().join(format!("{}.lock", key.hex()))
    }

    /// Shared by those who use an image.
    pub(crate) fn image_lock(&self, manifest: &Digest) -> PathBuf {
        self.locks().join(format!("image-{}.lock", manifest.hex()))
    }
}

/// The image of a layer.
pub(crate) fn layer_file(diff_id: &Digest) -> String {
    format!("{}.erofs", diff_id.hex())
}

/// The merged metadata of a chain of layers.
pub(crate) fn fsmeta_file(chain: &Digest) -> String {
    format!("{}.fsmeta.erofs", chain.hex())
}

/// The descriptor of the disk that a chain of layers makes.
pub(crate) fn vmdk_file(chain: &Digest) -> String {
    format!("{}.vmdk", chain.hex())
}

/// What is known of a layer or a chain.
pub(crate) fn record_file(key: &Digest) -> String {
    format!("{}.json", key.hex())
}

/// Whether a file of the artifacts is such a record.
pub(crate) fn is_record_file(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|extension| extension == "json")
}

/// Stands for a list of layers, in order, in this format.
pub(crate) fn chain_key<'a>(diff_ids: impl IntoIterator<Item = &'a Digest>) -> Digest {
    let mut text = format!("msb store v{FORMAT_VERSION}\n");
    for diff_id in diff_ids {
        text.push_str(&diff_id.to_string());
        text.push('\n');
    }
    Digest::of(text.as_bytes())
}

/// A reference as a file name: what is not a letter, a digit, `.`, `-` or `_` is percent-encoded. Long
/// ones end in a digest instead.
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
        name.push_str(&Digest::of(reference.as_bytes()).hex());
    }
    name
}

/// Makes a directory that may be there, whatever the host says of it.
fn make_directory(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir_all(path),
        other => other,
    }
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
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        assert_ne!(chain_key([&a, &b]), chain_key([&b, &a]));
        assert_ne!(chain_key([&a]), chain_key([&a, &a]));
    }
}
