use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use msb_agent_protocol::v1::{WriteFile, WriteFileInput, WriteFileReply, write_file_input};
use msb_agent_protocol::{Bytes, Status, Streaming};
use rustix::io::Errno;
use tokio::sync::mpsc;

use super::change::{errno, make_directories};
use super::status::failed;
use super::{PENDING_ANSWERS, absolute, waiting};
use crate::exec::Running;

/// The mode of a new file if the request has none.
const FILE_MODE: u32 = 0o644;
/// The most symlinks that are followed to a missing file (`MAXSYMLINKS`, linux/namei.h).
const LINKS_MAX: usize = 40;
/// The most temporary names that are tried.
const NAMES_MAX: u32 = 1000;

/// Makes or replaces a file with the content that the host sends.
pub(crate) async fn write(
    start: WriteFile,
    mut inputs: Streaming<WriteFileInput>,
    running: &Running,
) -> Result<WriteFileReply, Status> {
    let (sender, chunks) = mpsc::channel(PENDING_ANSWERS);
    let writing = waiting(move || write_chunks(&start, chunks));
    let receiving = async move {
        // Content without an end marker was cut off.
        while let Ok(Some(WriteFileInput { input: Some(input) })) = inputs.message().await {
            let chunk = match input {
                _ if running.is_closed() => return,
                write_file_input::Input::Data(data) => Some(data),
                write_file_input::Input::End(_) => None,
                write_file_input::Input::Start(_) => return,
            };
            let is_end = chunk.is_none();
            if sender.send(chunk).await.is_err() || is_end {
                return;
            }
        }
    };
    tokio::pin!(writing);
    tokio::select! {
        // Writing may fail before the host has sent everything.
        written = &mut writing => written,
        () = receiving => writing.await,
    }
}

fn write_chunks(
    start: &WriteFile,
    chunks: mpsc::Receiver<Option<Bytes>>,
) -> Result<WriteFileReply, Status> {
    let bytes = absolute(&start.path);
    let refused = |error| failed("write", &bytes)(errno(error));
    let path = followed(Path::new(OsStr::from_bytes(&bytes))).map_err(refused)?;
    if let Some(directory) = path.parent().filter(|_| start.parents) {
        make_directories(directory).map_err(refused)?;
    }
    let mut file = NewFile::beside(&path, start.mode).map_err(refused)?;
    match file.take(chunks) {
        Ok(true) => {}
        Ok(false) => {
            return Err(Status::aborted(
                "the content was cut; the file is as it was",
            ));
        }
        Err(error) => return Err(refused(error)),
    }
    file.replace(&path).map_err(refused)?;
    Ok(WriteFileReply {})
}

/// Returns the path that the content is written to. Symlinks at the path's end are followed, as
/// they are when a process opens it for writing.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path).map_err(errno) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            // The path is not a symlink, or does not exist.
            Err(Errno::INVAL | Errno::NOENT) => return Ok(path),
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::LOOP.into())
}

/// A file's new content, beside the file under a temporary name until it is complete.
struct NewFile {
    file: File,
    path: PathBuf,
    is_renamed: bool,
}

impl NewFile {
    /// Creates the new content of `path`, with this mode, or with that of the existing file. An
    /// existing file's owner is kept.
    fn beside(path: &Path, mode: Option<u32>) -> io::Result<Self> {
        let there = match fs::symlink_metadata(path) {
            Ok(there) if there.is_dir() => return Err(Errno::ISDIR.into()),
            // A pipe or a device must not be replaced by a regular file.
            Ok(there) if !there.is_file() => return Err(Errno::INVAL.into()),
            Ok(there) => Some(there),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let (Some(directory), Some(_)) = (path.parent(), path.file_name()) else {
            return Err(Errno::ISDIR.into());
        };
        let new = Self::create(directory)?;
        if let Some(there) = &there {
            fchown(&new.file, Some(there.uid()), Some(there.gid()))?;
        }
        let kept = there.map(|there| there.mode());
        let mode = mode.or(kept).unwrap_or(FILE_MODE) & 0o7777;
        new.file.set_permissions(Permissions::from_mode(mode))?;
        Ok(new)
    }

    fn create(directory: &Path) -> io::Result<Self> {
        for number in 0..NAMES_MAX {
            let path = directory.join(format!(".msb-write-{number}"));
            let file = File::options()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path);
            match file {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => {
                    return other.map(|file| Self {
                        file,
                        path,
                        is_renamed: false,
                    });
                }
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Writes the content as it arrives. Returns true if it was complete.
    fn take(&mut self, mut chunks: mpsc::Receiver<Option<Bytes>>) -> io::Result<bool> {
        while let Some(chunk) = chunks.blocking_recv() {
            match chunk {
                Some(data) => self.file.write_all(&data)?,
                None => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Replaces the file at `path` with the new content.
    fn replace(mut self, path: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, path)?;
        self.is_renamed = true;
        File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_renamed {
            // A failure leaves a temporary file, which blocks nothing.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests;
