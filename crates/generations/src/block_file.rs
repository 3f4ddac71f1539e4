use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use block_tree::{BlockTree, Content};
use fstree::ReadAt;
use verified_file::VerifiedFile;

use crate::block::{BLOCK_BYTES, SIZE_MAX_BYTES};
use crate::error::BaseError;

/// A file that has blocks of a disk. If its tree lies beside it, with the same name and the extension `tree`, each
/// read of the file is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFile {
    /// The path: absolute, or from the directory of the pool.
    pub path: PathBuf,
    /// The length of the file, in bytes.
    pub size_bytes: u64,
    /// The BLAKE3 of the content. Nothing here reads all of the file: its tree, or its owner, compares.
    pub blake3: [u8; 32],
}

/// The open file of a [`BlockFile`].
#[derive(Debug)]
pub(crate) enum OpenBlockFile {
    /// The file has a tree.
    Verified(VerifiedFile<File, File>),
    /// The file has no tree.
    Plain(File),
}

impl BlockFile {
    /// Returns the number of whole blocks that a run can name.
    pub(crate) fn blocks(&self) -> u64 {
        self.size_bytes.min(SIZE_MAX_BYTES) / BLOCK_BYTES
    }

    pub(crate) fn open(&self, directory: &Path) -> Result<OpenBlockFile, BaseError> {
        let path = directory.join(&self.path);
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((size_bytes, file)) if size_bytes == self.size_bytes => self.verified(path, file),
            Ok((size_bytes, _)) => {
                let before = self.size_bytes;
                let change = format!("it had {before} bytes and has {size_bytes}");
                Err(BaseError::Changed { path, change })
            }
            Err(source) => Err(BaseError::Io { path, source }),
        }
    }

    /// Puts the file under its tree, if there is one.
    fn verified(&self, path: PathBuf, file: File) -> Result<OpenBlockFile, BaseError> {
        let tree_path = path.with_extension("tree");
        let sidecar = match File::open(&tree_path) {
            Ok(sidecar) => sidecar,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(OpenBlockFile::Plain(file));
            }
            Err(source) => {
                let path = tree_path;
                return Err(BaseError::Io { path, source });
            }
        };
        let content = Content {
            length_bytes: self.size_bytes,
            blake3: self.blake3,
        };
        let tree = BlockTree::open(sidecar, &content);
        let tree = tree.map_err(|source| BaseError::Tree {
            path: tree_path,
            source,
        })?;
        let artifact = VerifiedFile::new(path.display().to_string(), file, tree);
        let artifact = artifact.map_err(|source| BaseError::Io { path, source })?;
        Ok(OpenBlockFile::Verified(artifact))
    }
}

impl ReadAt for OpenBlockFile {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        match self {
            Self::Verified(artifact) => artifact.read_exact_at(buf, offset_bytes),
            Self::Plain(file) => ReadAt::read_exact_at(file, buf, offset_bytes),
        }
    }

    fn size_bytes(&self) -> io::Result<u64> {
        match self {
            Self::Verified(artifact) => artifact.size_bytes(),
            Self::Plain(file) => file.size_bytes(),
        }
    }
}
