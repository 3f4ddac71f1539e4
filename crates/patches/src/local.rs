//! The host's side of a copy.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fs_err as fs;

use super::CopyPathError;
use super::copy_path::{CopyPath, Destination, Source};

/// Symlinks that are followed at the end of one path, the kernel's limit.
pub const LINKS_MAX: usize = 40;

/// A file of the host to pack: its directory, and its name there.
#[derive(Debug)]
pub struct Packed {
    /// The directory.
    pub directory: File,
    /// The name in it; `.` for the directory itself.
    pub name: Vec<u8>,
}

/// Returns a path of the host from its bytes.
pub fn host_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Returns a function that makes the error of an operation on a path of the host. `action` is a verb.
pub fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> CopyPathError {
    move |source| CopyPathError::Host {
        action,
        path: path.to_owned(),
        source,
    }
}

/// Finds the source of a copy on the host, and the file to pack. With `follow`, a symlink is
/// replaced by its target under the symlink's own name.
///
/// # Errors
/// If the source does not exist or cannot be opened, or asserts a directory and is none.
pub fn source(path: &CopyPath, follow: bool) -> Result<(Source, Packed), CopyPathError> {
    let typed = host_path(path.as_bytes());
    let is_directory = |metadata: std::fs::Metadata| metadata.is_dir();
    let stands_for = if path.asserts_directory() || path.name().is_none() || follow {
        std::fs::metadata(&typed)
    } else {
        std::fs::symlink_metadata(&typed)
    };
    let is_directory = stands_for
        .map(is_directory)
        .map_err(failed("find", &typed))?;
    if path.asserts_directory() && !is_directory {
        return Err(failed("copy", &typed)(io::ErrorKind::NotADirectory.into()));
    }
    let source = Source {
        is_directory,
        name: path.name().map(<[u8]>::to_vec),
    };
    let packs_whole = is_directory && (path.asserts_directory() || follow);
    let (directory, name) = if packs_whole || path.name().is_none() {
        (typed.clone(), b".".to_vec())
    } else if follow {
        let real = std::fs::canonicalize(&typed).map_err(failed("find", &typed))?;
        let name = real.file_name().unwrap_or_default().as_bytes().to_vec();
        (real.parent().unwrap_or(Path::new("/")).to_owned(), name)
    } else {
        (
            host_path(&path.parent()),
            path.name().unwrap_or(b".").to_vec(),
        )
    };
    let directory = open_directory(&directory)?;
    Ok((source, Packed { directory, name }))
}

/// Finds the destination of a copy on the host; symlinks at its end are followed.
///
/// # Errors
/// If it cannot be examined, or leads through too many symlinks.
pub fn destination(path: CopyPath) -> Result<Destination, CopyPathError> {
    let mut path = path;
    for _ in 0..LINKS_MAX {
        let there = host_path(path.as_bytes());
        match std::fs::metadata(&there) {
            Ok(metadata) => {
                let is_directory = Some(metadata.is_dir());
                return Ok(Destination { path, is_directory });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("find", &there)(error)),
        }
        match std::fs::read_link(&there) {
            Ok(target) => path = path.led_to(target.as_os_str().as_bytes()),
            Err(_) => {
                return Ok(Destination {
                    path,
                    is_directory: None,
                });
            }
        }
    }
    Err(CopyPathError::Loop {
        path: path.as_bytes().into(),
    })
}

/// Opens an existing directory.
///
/// # Errors
/// If it does not exist, is no directory, or cannot be opened.
pub fn open_directory(path: &Path) -> Result<File, CopyPathError> {
    let metadata = std::fs::metadata(path).map_err(failed("open the directory", path))?;
    if !metadata.is_dir() {
        let error = io::ErrorKind::NotADirectory.into();
        return Err(failed("open the directory", path)(error));
    }
    fs::File::open(path)
        .map(|file| file.into_parts().0)
        .map_err(failed("open the directory", path))
}
