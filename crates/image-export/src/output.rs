use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use fs_err as fs;
use fstree::{Metadata, Segment};
use tar_stream::{ArchiveWriter, EntryHeader, EntryKind, WriteError};

use crate::SaveError;

/// Bytes that are copied at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// The files of an archive, in the order in which they are added.
pub(crate) trait Output {
    /// Adds a file of `size_bytes`, which `content` must have exactly. A layer's tar is checked at
    /// its end.
    fn add(&mut self, name: &str, size_bytes: u64, content: &mut dyn Read)
    -> Result<(), SaveError>;

    /// Adds a file that is in memory.
    fn add_bytes(&mut self, name: &str, mut bytes: &[u8]) -> Result<(), SaveError> {
        let size_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.add(name, size_bytes, &mut bytes)
    }
}

/// A tar.
pub(crate) struct TarOutput<W> {
    archive: ArchiveWriter<W>,
}

impl<W: Write> TarOutput<W> {
    pub(crate) fn new(out: W) -> Self {
        let archive = ArchiveWriter::new(out);
        Self { archive }
    }

    pub(crate) fn finish(self) -> Result<W, SaveError> {
        self.archive.finish().map_err(SaveError::Output)
    }
}

impl<W: Write> Output for TarOutput<W> {
    fn add(
        &mut self,
        name: &str,
        size_bytes: u64,
        content: &mut dyn Read,
    ) -> Result<(), SaveError> {
        let metadata = Metadata::with_mode(0o644);
        let header = EntryHeader {
            path: name.as_bytes(),
            kind: EntryKind::Regular,
            link: b"",
            metadata: &metadata,
        };
        // The pieces are asked for in their order.
        let mut read = |_, buffer: &mut [u8]| content.read_exact(buffer);
        let segments = Segment::whole_file(size_bytes);
        let added = self.archive.file(&header, size_bytes, segments, &mut read);
        added.map_err(|error| match error {
            WriteError::Content { source, .. } => content_error(name, source),
            WriteError::Output(error) => SaveError::Output(error),
            error => SaveError::Output(io::Error::other(error)),
        })?;
        at_end(name, content)
    }
}

/// A directory, whose files are synced.
pub(crate) struct DirectoryOutput {
    root: PathBuf,
    /// Directories below the root, to be synced.
    directories: Vec<PathBuf>,
}

impl DirectoryOutput {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            directories: Vec::new(),
        }
    }

    pub(crate) fn finish(self) -> Result<(), SaveError> {
        let directories = self.directories.iter().chain([&self.root]);
        let synced = directories
            .map(PathBuf::as_path)
            .try_for_each(durable_files::sync_directory);
        synced.map_err(SaveError::Output)
    }
}

impl Output for DirectoryOutput {
    fn add(
        &mut self,
        name: &str,
        size_bytes: u64,
        content: &mut dyn Read,
    ) -> Result<(), SaveError> {
        let path = self.root.join(name);
        let parent = path.parent().unwrap_or(&self.root).to_owned();
        fs::create_dir_all(&parent).map_err(SaveError::Output)?;
        for directory in parent.ancestors() {
            if directory == self.root || self.directories.iter().any(|known| known == directory) {
                break;
            }
            self.directories.push(directory.to_owned());
        }
        let mut file = fs::File::create_new(&path).map_err(SaveError::Output)?;
        copy(name, size_bytes, content, &mut file)?;
        file.sync_all().map_err(SaveError::Output)
    }
}

fn copy(
    name: &str,
    size_bytes: u64,
    content: &mut dyn Read,
    out: &mut dyn Write,
) -> Result<(), SaveError> {
    let mut buffer = vec![0; PIECE_BYTES];
    let mut left_bytes = size_bytes;
    while left_bytes > 0 {
        let count = usize::try_from(left_bytes).map_or(PIECE_BYTES, |left| left.min(PIECE_BYTES));
        let piece = &mut buffer[..count];
        content
            .read_exact(piece)
            .map_err(|error| content_error(name, error))?;
        out.write_all(piece).map_err(SaveError::Output)?;
        left_bytes -= u64::try_from(count).unwrap_or(left_bytes);
    }
    at_end(name, content)
}

/// Checks that nothing is left, for which a layer's tar has to be the right one.
fn at_end(name: &str, content: &mut dyn Read) -> Result<(), SaveError> {
    match content.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => {
            let error = io::Error::new(io::ErrorKind::InvalidData, "it is longer than expected");
            Err(content_error(name, error))
        }
        Err(error) => Err(content_error(name, error)),
    }
}

fn content_error(name: &str, source: io::Error) -> SaveError {
    if source.kind() == io::ErrorKind::ConnectionAborted {
        return SaveError::Cancelled;
    }
    SaveError::Content {
        name: name.to_owned(),
        source,
    }
}
