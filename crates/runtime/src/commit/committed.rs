//! The last image that a sandbox was committed to.

use std::io::{self, Read as _};
use std::path::Path;

use fs_err as fs;
use oci_image::Digest;
use serde::{Deserialize, Serialize};

use super::CommittedError;
use crate::Sandbox;
use crate::sandbox::ChangeLock;

/// The longest record that is read, in bytes.
const RECORD_MAX_BYTES: u64 = 4096;

#[derive(Debug, Serialize, Deserialize)]
struct Committed {
    /// Digest of the image's manifest.
    image_digest: Digest,
}

impl Sandbox {
    /// Returns the digest of the last image that was made of this sandbox; `None` if there is none.
    ///
    /// # Errors
    /// If the record of it cannot be read.
    pub fn committed_image(&self) -> Result<Option<Digest>, CommittedError> {
        let path = self.files.committed();
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
    pub fn note_committed_image(&self, image_digest: Digest) -> io::Result<()> {
        let bytes = serde_json::to_vec(&Committed { image_digest })?;
        match self.write_committed(&bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            noted => noted,
        }
    }

    fn write_committed(&self, bytes: &[u8]) -> io::Result<()> {
        let _change = ChangeLock::take(&self.files)?;
        // The name is the same each time, so that a killed process leaves none for good.
        let unfinished = self.files.unfinished_committed();
        remove_if_there(&unfinished)?;
        let written = durable_files::write_new(&unfinished, bytes)
            .and_then(|()| durable_files::rename_all(&[(&unfinished, &self.files.committed())]));
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
    use super::*;
    use crate::{Home, Spec};

    #[test]
    fn the_last_image_is_remembered() {
        let root = tempfile::tempdir().expect("a directory");
        let sandbox = Sandbox::for_tests(&Home::new(root.path()), Spec::for_tests("a"));
        assert_eq!(sandbox.committed_image().expect("read"), None);
        fs::write(sandbox.files.unfinished_committed(), "half").expect("written");
        for text in [b"one", b"two"] {
            let digest = Digest::compute(text);
            sandbox.note_committed_image(digest).expect("written");
            assert_eq!(sandbox.committed_image().expect("read"), Some(digest));
        }
        assert!(!sandbox.files.unfinished_committed().exists());
        fs::write(sandbox.files.committed(), "{").expect("written");
        let error = sandbox.committed_image().expect_err("damaged").to_string();
        assert!(error.contains("committed.json"), "{error}");
    }
}
