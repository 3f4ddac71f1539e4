//! The last image that a sandbox was committed to.

use std::io::{self, Read as _};
use std::path::Path;

use fs_err as fs;
use msb_runtime::{ChangeLock, Sandbox};
use oci_image::Digest;
use serde::{Deserialize, Serialize};

use super::CommittedError;

/// The longest record that is read, in bytes.
const RECORD_MAX_BYTES: u64 = 4096;

#[derive(Debug, Serialize, Deserialize)]
struct Committed {
    /// Digest of the image's manifest.
    image_digest: Digest,
}

/// The note of the last image that a sandbox was committed to.
#[derive(Debug)]
pub struct CommittedImage<'a> {
    sandbox: &'a Sandbox,
}

impl<'a> CommittedImage<'a> {
    /// Returns the note of a sandbox; nothing is read or made.
    pub const fn new(sandbox: &'a Sandbox) -> Self {
        Self { sandbox }
    }

    /// Returns the digest of the last image that was made of this sandbox; `None` if there is none.
    ///
    /// # Errors
    /// If the record of it cannot be read.
    pub fn read(&self) -> Result<Option<Digest>, CommittedError> {
        let path = self.sandbox.files.committed();
        match read(&path) {
            Ok(record) => Ok(Some(record.image_digest)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(CommittedError { path, source }),
        }
    }

    /// Notes that an image was made of this sandbox. The next one is a child of it. A sandbox that was
    /// removed meanwhile needs no note.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn note(&self, image_digest: Digest) -> io::Result<()> {
        let bytes = serde_json::to_vec(&Committed { image_digest })?;
        match self.write(&bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            noted => noted,
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let _change = ChangeLock::take(&self.sandbox.files)?;
        // The name is the same each time, so that a killed process leaves none for good.
        let unfinished = self.sandbox.files.unfinished_committed();
        remove_if_there(&unfinished)?;
        let written = durable_files::write_new(&unfinished, bytes).and_then(|()| {
            durable_files::rename_all(&[(&unfinished, &self.sandbox.files.committed())])
        });
        written.inspect_err(|_| drop(remove_if_there(&unfinished)))
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn read(path: &Path) -> io::Result<Committed> {
    let mut bytes = Vec::new();
    let record = fs::File::open(path)?;
    record.take(RECORD_MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use msb_runtime::Home;

    use super::*;
    use testkit::sandboxes::{self, spec};

    #[test]
    fn the_last_image_is_remembered() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = sandboxes::sandbox(&Home::new(root.path()), spec("a"));
        let committed = CommittedImage::new(&sandbox);
        assert_eq!(committed.read().expect("read"), None);
        fs::write(sandbox.files.unfinished_committed(), "half").expect("written");
        for text in [b"one", b"two"] {
            let digest = Digest::compute(text);
            committed.note(digest).expect("written");
            assert_eq!(committed.read().expect("read"), Some(digest));
        }
        assert!(!sandbox.files.unfinished_committed().exists());
        fs::write(sandbox.files.committed(), "{").expect("written");
        let error = committed.read().expect_err("damaged").to_string();
        assert!(error.contains("committed.json"), "{error}");
    }
}
