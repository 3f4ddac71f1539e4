use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use artifact_cache::{Artifact, UnitLocks};
use block_tree::{BlockTree, Content};
use packed_file::PackedFile;
use verified_file::VerifiedFile;

use crate::cache::Cache;
use crate::error::OpenError;
use crate::file::ArtifactFile;
use crate::packed_reader::PackedReader;
use crate::paths::{cache_path, packed_path, tree_path};

/// The number of looks for both forms: another process may change the form between them, and back.
const LOOKS: u32 = 8;

/// The proof of the bytes that are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verify {
    /// The reader compares plain bytes itself, or needs no proof. A packed form proves its groups, and no file is
    /// written.
    #[default]
    Owner,
    /// Each read is verified, by the tree if it exists. A plain form without a tree is not verified.
    TreeIfPresent,
    /// Each read is verified by the tree, which has to exist.
    Tree,
}

/// The opening of an artifact, whatever form it has.
#[derive(Debug)]
pub struct Opening<'a> {
    path: &'a Path,
    content: Content,
    verify: Verify,
    locks: Option<Arc<UnitLocks>>,
}

impl<'a> Opening<'a> {
    /// Returns the opening of the artifact with the plain form at `path`. The reader verifies its bytes.
    pub const fn new(path: &'a Path, content: Content) -> Self {
        Self {
            path,
            content,
            verify: Verify::Owner,
            locks: None,
        }
    }

    /// Sets the proof of the bytes that are read.
    #[must_use]
    pub fn verified(self, verify: Verify) -> Self {
        Self { verify, ..self }
    }

    /// Sets the locks by which the processes of a host decompress a group once.
    #[must_use]
    pub fn with_locks(self, locks: Option<Arc<UnitLocks>>) -> Self {
        Self { locks, ..self }
    }

    /// Opens the artifact.
    ///
    /// # Errors
    /// If neither form exists, a file cannot be opened, or one that is verified is not that of the content.
    pub fn open(&self) -> Result<ArtifactFile, OpenError> {
        let mut missing = io::Error::from(io::ErrorKind::NotFound);
        for _ in 0..LOOKS {
            match File::open(self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => missing = error,
                opened => return self.plain(opened.map_err(io_error(self.path))?),
            }
            let path = packed_path(self.path);
            match File::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => {
                    let file = opened.map_err(io_error(&path))?;
                    return self.packed(file, path);
                }
            }
        }
        Err(io_error(self.path)(missing))
    }

    /// Returns the open plain form, under its tree.
    fn plain(&self, file: File) -> Result<ArtifactFile, OpenError> {
        if self.verify == Verify::Owner {
            return Ok(ArtifactFile::Plain(file));
        }
        let actual_bytes = file.metadata().map_err(io_error(self.path))?.len();
        self.check_length(self.path, actual_bytes)?;
        let Some(tree) = self.tree()? else {
            return Ok(ArtifactFile::Plain(file));
        };
        let verified = VerifiedFile::new(self.name(), file, tree);
        verified
            .map(ArtifactFile::Verified)
            .map_err(io_error(self.path))
    }

    /// Returns the open packed form, with its cache file if its reads are verified.
    fn packed(&self, file: File, path: PathBuf) -> Result<ArtifactFile, OpenError> {
        let opened = PackedFile::open(file, Some(&self.content.blake3));
        let packed = opened.map_err(|source| OpenError::Packed {
            path: path.clone(),
            source,
        })?;
        self.check_length(&path, packed.plain_bytes())?;
        if self.verify == Verify::Owner {
            return Ok(ArtifactFile::Packed(PackedReader::new(packed)));
        }
        let packed = Arc::new(packed);
        let tree = self.tree()?;
        let cache = Cache::open(&cache_path(self.path), self.content.length_bytes);
        let artifact = match tree {
            Some(tree) => Artifact::new(&self.name(), cache, tree),
            None => Artifact::new(&self.name(), cache, Arc::clone(&packed)),
        };
        let artifact = artifact.with_source(packed);
        let artifact = match &self.locks {
            Some(locks) => artifact.with_locks(Arc::clone(locks)),
            None => artifact,
        };
        Ok(ArtifactFile::Cached(Box::new(artifact)))
    }

    /// Opens the tree; `None` if it does not exist and need not.
    fn tree(&self) -> Result<Option<BlockTree<File>>, OpenError> {
        let path = tree_path(self.path);
        let sidecar = match File::open(&path) {
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && self.verify == Verify::TreeIfPresent =>
            {
                return Ok(None);
            }
            opened => opened.map_err(io_error(&path))?,
        };
        let tree = BlockTree::open(sidecar, &self.content);
        tree.map(Some)
            .map_err(|source| OpenError::Tree { path, source })
    }

    fn check_length(&self, path: &Path, actual_bytes: u64) -> Result<(), OpenError> {
        let expected_bytes = self.content.length_bytes;
        if actual_bytes == expected_bytes {
            return Ok(());
        }
        Err(OpenError::Length {
            path: path.to_owned(),
            actual_bytes,
            expected_bytes,
        })
    }

    /// Returns the name of the artifact in logs, and for locks.
    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Returns a function that makes an error of the system one of the file at `path`.
fn io_error(path: &Path) -> impl FnOnce(io::Error) -> OpenError + use<> {
    let path = path.to_owned();
    move |source| OpenError::Io { path, source }
}
