use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _};
use std::path::Path;

use fs_err as fs;
use image_store::session::Session;
use oci_layers::Limits;

use super::container::Container;
use super::error::ArchiveError;
use crate::pipeline::{Budget, Compression, Counted, beyond, decompress, detect};

/// The archive's name in messages if it comes from standard input.
const STDIN_NAME: &str = "standard input";

/// Opens the archive at `path`.
/// A tar is read in place, unless it is compressed or not seekable: then it is first unpacked to a
/// file of the session.
pub(super) fn open_path(
    path: &Path,
    session: &Session,
    limits: &Limits,
) -> Result<Container, ArchiveError> {
    let metadata = fs::metadata(path).map_err(ArchiveError::Io)?;
    if metadata.is_dir() {
        return Ok(Container::directory(path, limits));
    }
    let mut file = fs::File::open(path)
        .map_err(ArchiveError::Io)?
        .into_parts()
        .0;
    if !metadata.is_file() {
        return spool(file, path, session, limits);
    }
    let (compression, _) = detect(&mut file).map_err(ArchiveError::Io)?;
    file.rewind().map_err(ArchiveError::Io)?;
    match compression {
        Compression::None => Container::tar(path, file, limits),
        _ => spool(file, path, session, limits),
    }
}

/// Reads an archive from standard input, through a file of the session.
pub(super) fn open_stdin(session: &Session, limits: &Limits) -> Result<Container, ArchiveError> {
    spool(io::stdin().lock(), Path::new(STDIN_NAME), session, limits)
}

fn spool(
    source: impl Read,
    path: &Path,
    session: &Session,
    limits: &Limits,
) -> Result<Container, ArchiveError> {
    let broken = |source| match beyond(source) {
        Ok(source) => ArchiveError::Limit {
            path: path.to_owned(),
            source,
        },
        Err(source) => ArchiveError::Broken {
            path: path.to_owned(),
            source,
        },
    };
    let read_bytes = Cell::new(0);
    let source = Counted::new(source, &read_bytes);
    let (compression, source) = detect(source).map_err(ArchiveError::Io)?;
    let source = BufReader::with_capacity(256 * 1024, source);
    let unknown = || ArchiveError::Unknown {
        path: path.to_owned(),
    };
    let budget = Budget::new(limits);
    let content = decompress(compression, source, &budget)
        .map_err(broken)?
        .ok_or_else(unknown)?;
    let mut content = budget.meter(content, &read_bytes);
    let file = write(&mut content, &session.path("archive")).map_err(|error| match error {
        SpoolError::Read(error) => broken(error),
        SpoolError::Write(error) => ArchiveError::Io(error),
    })?;
    Container::tar(path, file, limits)
}

enum SpoolError {
    Read(io::Error),
    Write(io::Error),
}

fn write(content: &mut dyn Read, path: &Path) -> Result<File, SpoolError> {
    use std::io::Write as _;
    let mut file = durable_files::create_new(path).map_err(SpoolError::Write)?;
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match content.read(&mut buffer) {
            Ok(0) => return Ok(file.into_parts().0),
            Ok(count) => file
                .write_all(&buffer[..count])
                .map_err(SpoolError::Write)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(SpoolError::Read(error)),
        }
    }
}
