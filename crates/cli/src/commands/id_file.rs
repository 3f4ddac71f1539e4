use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, anyhow};

use msb_terminal::failure::Failure;

/// A new file for a sandbox's id. It is removed if no id is written.
#[derive(Debug)]
pub(super) struct IdFile {
    path: PathBuf,
    file: File,
    /// The id, once it is written.
    id: OnceLock<String>,
}

impl IdFile {
    /// Creates the file, empty.
    ///
    /// # Errors
    /// If the file exists, which may belong to another sandbox, or cannot be created.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(file) => Ok(Self {
                path: path.to_owned(),
                file,
                id: OnceLock::new(),
            }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(anyhow!(
                "--cidfile {shown}: the file exists and may contain the id of another sandbox; \
                 remove it first"
            )
            .into()),
            Err(error) => Err(anyhow::Error::new(error)
                .context(format!("--cidfile {shown}: cannot create the file"))
                .into()),
        }
    }

    /// Writes the id without a newline, as Docker does.
    ///
    /// # Errors
    /// A failed write, as on a full disk.
    pub(super) fn write(&self, id: &str) -> Result<(), Failure> {
        let written = (&self.file).write_all(id.as_bytes());
        written
            .with_context(|| format!("--cidfile {}: cannot write the id", self.path.display()))?;
        self.id.get_or_init(|| id.to_owned());
        Ok(())
    }

    /// Returns the id, once it is written.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.get().map(String::as_str)
    }

    /// Removes the file, whose sandbox was removed.
    pub(super) fn remove(&self) {
        // The next run with this file reports that it exists.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Drop for IdFile {
    fn drop(&mut self) {
        if self.id.get().is_none() {
            // The file is empty, so nothing is lost if it stays.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_new_and_goes_with_a_sandbox_that_was_not_made() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("id");
        drop(IdFile::create(&path).expect("made"));
        assert!(!path.exists());
        IdFile::create(&path)
            .expect("made")
            .write("0123")
            .expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "0123");
        let refused = IdFile::create(&path).expect_err("it is there").line();
        assert!(refused.contains("--cidfile") && refused.contains("remove it first"));
        assert!(path.exists());
    }
}
