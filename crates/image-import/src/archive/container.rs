use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fs_err as fs;
use oci_image::excerpt;
use oci_layers::{Limit, Limits};

use super::choice::Choice;
use super::error::ArchiveError;
use super::name::normal;
use super::slice::Slice;
use super::tar_index::TarIndex;

/// The most names that an error lists.
const NAMES_MAX: usize = 8;

/// Files by name: a directory, or a tar whose headers have been read.
#[derive(Debug)]
pub(crate) struct Container {
    /// The path of the directory or the tar, for messages.
    pub(super) path: PathBuf,
    pub(super) limits: Limits,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Directory,
    Tar { file: Arc<File>, index: TarIndex },
}

/// An open file of a container.
pub(crate) struct Entry {
    pub(crate) reader: Box<dyn Read + Send>,
    pub(crate) size_bytes: u64,
}

impl Container {
    pub(super) fn directory(path: &Path, limits: &Limits) -> Self {
        Self {
            path: path.to_owned(),
            limits: limits.clone(),
            kind: Kind::Directory,
        }
    }

    /// Reads the tar's headers, but not the content between them.
    pub(super) fn tar(path: &Path, file: File, limits: &Limits) -> Result<Self, ArchiveError> {
        let index = TarIndex::read(path, &file, limits)?;
        Ok(Self {
            path: path.to_owned(),
            limits: limits.clone(),
            kind: Kind::Tar {
                file: Arc::new(file),
                index,
            },
        })
    }

    /// Returns the error for a choice that fits no entry, with some of the names that there are.
    pub(super) fn not_chosen(
        &self,
        choice: &Choice,
        names: impl IntoIterator<Item = String>,
    ) -> ArchiveError {
        let names = names.into_iter().take(NAMES_MAX);
        ArchiveError::NotChosen {
            path: self.path.clone(),
            choice: choice.clone(),
            names: names.map(|name| excerpt(&name)).collect(),
        }
    }

    /// Returns true if the container has a file of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        match &self.kind {
            Kind::Directory => self.path.join(name).is_file(),
            Kind::Tar { index, .. } => index.find(name).is_some(),
        }
    }

    /// Opens a file; links are followed. A name that leads out of the container is missing.
    pub(super) fn open(&self, name: &str) -> Result<Entry, ArchiveError> {
        let missing = || ArchiveError::Missing {
            path: self.path.clone(),
            name: name.to_owned(),
        };
        match &self.kind {
            Kind::Directory => {
                let path = self.path.join(normal(name).ok_or_else(missing)?);
                if !path.is_file() {
                    return Err(missing());
                }
                let file = fs::File::open(path).map_err(ArchiveError::Io)?;
                let size_bytes = file.metadata().map_err(ArchiveError::Io)?.len();
                Ok(Entry {
                    reader: Box::new(file),
                    size_bytes,
                })
            }
            Kind::Tar { file, index } => {
                let place = index.find(name).ok_or_else(missing)?;
                let size_bytes = place.size_bytes;
                let bytes = place.offset_bytes..place.offset_bytes + size_bytes;
                let reader = Slice::new(Arc::clone(file), bytes);
                Ok(Entry {
                    reader: Box::new(reader),
                    size_bytes,
                })
            }
        }
    }

    /// Reads a whole document, of a length below the limit.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, ArchiveError> {
        let entry = self.open(name)?;
        let checked = self.limits.check(Limit::ImageDocument, entry.size_bytes);
        checked.map_err(|source| ArchiveError::Limit {
            path: self.path.clone(),
            source,
        })?;
        let mut bytes = Vec::new();
        entry
            .reader
            .take(entry.size_bytes)
            .read_to_end(&mut bytes)
            .map_err(ArchiveError::Io)?;
        Ok(bytes)
    }
}
