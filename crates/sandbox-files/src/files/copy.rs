//! Copies between host and sandbox, with the semantics of `docker cp`.

use std::io::Read;
use std::os::fd::AsFd as _;
use std::path::Path;

use fstree::Name;
use msb_agent_protocol::v1::{FileStat, FileType, PutArchive, WriteFile};
use msb_agent_protocol::{Bytes, CHUNK_MAX_BYTES, ChunkReader, ChunkWriter, ClientError, Code};
use msb_patches::CopyPathError;
use msb_patches::copy_path::{CopyPath, Destination, Landing, Source};
use msb_patches::local::{self, LINKS_MAX, Packed, host_path};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tree_archive::{ArchiveWriter, EntryRef, PackError, PackOptions, UnpackOptions, pack, unpack};

use super::{ByteStream, CopyError, FilesError, SandboxFiles};

/// Chunks in the channel between this host's files and the sandbox.
const PENDING_CHUNKS: usize = 4;

/// The options of a copy between host and sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CopyOptions {
    /// True if files keep their numeric owners. Otherwise they belong to the user of this process,
    /// or to root in the sandbox.
    pub keep_owner: bool,
    /// True if a source that is a symlink is replaced by its target.
    pub follow_link: bool,
    /// True if mounts in the source are left out: directories on another filesystem are empty.
    pub one_file_system: bool,
}

/// The result of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Copied {
    /// Number of files, directories and links that were copied.
    pub entries: u64,
    /// Number of device nodes of the sandbox that were left out.
    pub devices_left_out: u64,
}

/// Copies a file or a directory of this host into a sandbox.
///
/// # Errors
/// If a file cannot be read or written, and if docker refuses the copy: a directory onto a file, or
/// a destination whose parent does not exist.
pub async fn copy_in(
    source: &Path,
    files: &SandboxFiles,
    destination: &[u8],
    options: CopyOptions,
) -> Result<Copied, CopyError> {
    use std::os::unix::ffi::OsStrExt as _;
    let path = CopyPath::new(source.as_os_str().as_bytes()).map_err(CopyError::on_host)?;
    let destination = sandbox_destination(files, destination).await?;
    let (source, packed) = local::source(&path, options.follow_link).map_err(CopyError::on_host)?;
    let landing = source.landing(&destination);
    let landing = landing.map_err(|error| files.failed(error))?;
    let start = PutArchive {
        directory: landing.directory.into(),
        keep_owner: options.keep_owner,
        trusted_way: false,
    };
    let (sender, chunks) = mpsc::channel(PENDING_CHUNKS);
    let name = landing.name.unwrap_or_else(|| b".".to_vec());
    let one_file_system = options.one_file_system;
    let packing = tokio::task::spawn_blocking(move || {
        let options = PackOptions {
            one_file_system,
            ..PackOptions::named(&name)
        };
        pack_host(&packed, &options, &sender)
    });
    let put = files.put_archive(start, chunks).await;
    let packing = packing.await.map_err(|_| FilesError::BrokenOff)?;
    match packing {
        // The sandbox closed the channel; its answer has the reason.
        Err(PackError::Output(_)) => {}
        other => other.map_err(CopyError::on_host)?,
    }
    Ok(Copied {
        entries: put.map_err(|error| files.failed(error))?.entries,
        devices_left_out: 0,
    })
}

/// Unpacks a tar archive below a directory of a sandbox.
///
/// # Errors
/// If the directory does not exist, or the archive cannot be read or unpacked.
pub async fn put_tar(
    mut archive: impl Read + Send + 'static,
    files: &SandboxFiles,
    destination: &[u8],
    options: CopyOptions,
) -> Result<Copied, CopyError> {
    let destination = sandbox_destination(files, destination).await?;
    if destination.is_directory != Some(true) {
        let path = destination.path.as_bytes().into();
        return Err(files.failed(CopyError::NotDirectory { path }));
    }
    let (sender, chunks) = mpsc::channel(PENDING_CHUNKS);
    let (broken, mut why) = oneshot::channel();
    // A dedicated thread, because it may wait for input indefinitely.
    std::thread::spawn(move || {
        if let Err(error) = send_all(&mut archive, &sender) {
            // Sent before the channel ends: to the sandbox, the channel's end is the archive's end.
            let _ = broken.send(error);
        }
        drop(sender);
    });
    let start = PutArchive {
        directory: Bytes::copy_from_slice(destination.path.as_bytes()),
        keep_owner: options.keep_owner,
        trusted_way: false,
    };
    let put = files.put_archive(start, chunks).await;
    let entries = put.map_err(|error| files.failed(error))?.entries;
    if let Ok(error) = why.try_recv() {
        return Err(local::failed("read", Path::new("standard input"))(error).into());
    }
    Ok(Copied {
        entries,
        devices_left_out: 0,
    })
}

/// Writes one file of a sandbox from a reader; if reading fails, the file stays unchanged.
///
/// # Errors
/// If the file cannot be written, or the content cannot be read.
pub async fn write_file(
    mut content: impl Read + Send + 'static,
    files: &SandboxFiles,
    start: WriteFile,
) -> Result<(), CopyError> {
    let (sender, chunks) = mpsc::channel(PENDING_CHUNKS);
    let (broken, mut why) = oneshot::channel();
    // A dedicated thread, because it may wait for input indefinitely.
    std::thread::spawn(move || {
        let mut buffer = vec![0; CHUNK_MAX_BYTES];
        loop {
            let chunk = match content.read(&mut buffer) {
                Ok(0) => None,
                Ok(length) => Some(Bytes::copy_from_slice(&buffer[..length])),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    // Sent before the channel ends, which the sandbox takes for a truncation.
                    let _ = broken.send(error);
                    return;
                }
            };
            let is_end = chunk.is_none();
            if sender.blocking_send(chunk).is_err() || is_end {
                return;
            }
        }
    });
    let written = files.write_file(start, chunks).await;
    match why.try_recv() {
        Ok(error) => Err(local::failed("read", Path::new("standard input"))(error).into()),
        Err(_) => Ok(written?),
    }
}

/// Sends the reader's content until it ends or the receiver is closed.
fn send_all(archive: &mut impl Read, sender: &mpsc::Sender<Bytes>) -> std::io::Result<()> {
    let mut buffer = vec![0; CHUNK_MAX_BYTES];
    loop {
        let length = match archive.read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let chunk = Bytes::copy_from_slice(&buffer[..length]);
        if length == 0 || sender.blocking_send(chunk).is_err() {
            return Ok(());
        }
    }
}

/// Copies a file or a directory of a sandbox to this host.
///
/// # Errors
/// If a file cannot be read or written, and if docker refuses the copy. The sandbox's entries are
/// written below the destination and nowhere else.
pub async fn copy_out(
    files: &SandboxFiles,
    source: &[u8],
    destination: &Path,
    options: CopyOptions,
) -> Result<Copied, CopyError> {
    use std::os::unix::ffi::OsStrExt as _;
    let destination = CopyPath::new(destination.as_os_str().as_bytes());
    let destination = destination.map_err(CopyError::on_host)?;
    let (source, path) = sandbox_source(files, source, options).await?;
    let landing = local::destination(destination)
        .and_then(|destination| source.landing(&destination))
        .map_err(CopyError::on_host)?;
    let directory = local::open_directory(&host_path(&landing.directory));
    let directory = directory.map_err(CopyError::on_host)?;
    let archive = files.get_archive(path.as_bytes(), b".", options.one_file_system);
    let archive = archive.await.map_err(|error| files.failed(error))?;
    let (sender, chunks) = mpsc::channel(PENDING_CHUNKS);
    let options = unpack_options(landing, options).map_err(CopyError::on_host)?;
    let unpacking = tokio::task::spawn_blocking(move || {
        unpack(ChunkReader::new(chunks), directory.as_fd(), &options)
    });
    let received = receive(archive, &sender).await;
    drop(sender);
    let unpacked = unpacking.await.map_err(|_| FilesError::BrokenOff)?;
    match (received, unpacked) {
        // The guest's own error reached the unpacking as an early end.
        (Err(error), _) => Err(files.failed(error)),
        (Ok(()), Err(error)) => Err(CopyError::on_host(error)),
        (Ok(()), Ok(unpacked)) => Ok(Copied {
            entries: unpacked.entries,
            devices_left_out: unpacked.devices_left_out,
        }),
    }
}

impl SandboxFiles {
    /// Returns a file or a directory as a tar archive, for standard output.
    /// Its root has the file's name, or `.` if the content of a directory is requested.
    ///
    /// # Errors
    /// If the file does not exist.
    pub async fn tar(&self, path: &[u8], options: CopyOptions) -> Result<ByteStream, CopyError> {
        let (source, path) = sandbox_source(self, path, options).await?;
        let name = source.name.unwrap_or_else(|| b".".to_vec());
        let archive = self.get_archive(path.as_bytes(), &name, options.one_file_system);
        archive.await.map_err(|error| self.failed(error))
    }
}

/// Forwards an archive until it ends or the receiver is closed.
async fn receive(
    mut archive: ByteStream,
    sender: &mpsc::Sender<std::io::Result<Bytes>>,
) -> Result<(), FilesError> {
    loop {
        let chunk = match archive.next().await {
            Ok(None) => return Ok(()),
            Ok(Some(chunk)) => Ok(chunk),
            Err(error) => {
                let broken = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                let _ = sender.send(Err(broken)).await;
                return Err(error);
            }
        };
        if sender.send(chunk).await.is_err() {
            return Ok(());
        }
    }
}

fn unpack_options(landing: Landing, options: CopyOptions) -> Result<UnpackOptions, CopyError> {
    let name = landing.name.map(|name| Name::new(&name)).transpose();
    let name = name.map_err(|_| CopyPathError::EmptyPath)?;
    Ok(UnpackOptions {
        keep_owner: options.keep_owner,
        keep_set_id: options.keep_owner,
        only_below: Some(b".".to_vec()),
        renamed: name,
        ..UnpackOptions::default()
    })
}

fn pack_host(
    packed: &Packed,
    options: &PackOptions<'_>,
    sender: &mpsc::Sender<Bytes>,
) -> Result<(), PackError> {
    let place = EntryRef {
        directory: packed.directory.as_fd(),
        name: &packed.name,
    };
    let send = |chunk| sender.blocking_send(chunk).is_ok();
    let mut archive = ArchiveWriter::new(ChunkWriter::new(send));
    pack(place, options, &mut archive)?;
    archive.finish().map(drop).map_err(PackError::Output)
}

/// Finds the source of a copy in the sandbox, and the path to fetch it from.
async fn sandbox_source(
    files: &SandboxFiles,
    path: &[u8],
    options: CopyOptions,
) -> Result<(Source, CopyPath), CopyError> {
    let found = async { find_source(files, CopyPath::new(path)?, options).await };
    found.await.map_err(|error| files.failed(error))
}

async fn find_source(
    files: &SandboxFiles,
    path: CopyPath,
    options: CopyOptions,
) -> Result<(Source, CopyPath), CopyError> {
    let name = path.name().map(<[u8]>::to_vec);
    let mut path = path;
    for _ in 0..LINKS_MAX {
        let stat = files.stat(path.as_bytes(), false).await?;
        if options.follow_link && stat.r#type() == FileType::Symlink {
            path = path.led_to(&stat.link_target);
            continue;
        }
        let source = Source {
            is_directory: stat.r#type() == FileType::Directory,
            name,
        };
        return Ok((source, path));
    }
    let path = path.as_bytes().into();
    Err(CopyPathError::Loop { path }.into())
}

/// Finds the destination of a copy in the sandbox; symlinks at its end are followed.
async fn sandbox_destination(files: &SandboxFiles, path: &[u8]) -> Result<Destination, CopyError> {
    let found = async { find_destination(files, CopyPath::new(path)?).await };
    found.await.map_err(|error| files.failed(error))
}

async fn find_destination(files: &SandboxFiles, path: CopyPath) -> Result<Destination, CopyError> {
    let mut path = path;
    for _ in 0..LINKS_MAX {
        if let Some(stat) = found(files.stat(path.as_bytes(), true).await)? {
            let is_directory = Some(stat.r#type() == FileType::Directory);
            return Ok(Destination { path, is_directory });
        }
        match found(files.stat(path.as_bytes(), false).await)? {
            Some(link) if link.r#type() == FileType::Symlink => {
                path = path.led_to(&link.link_target);
            }
            _ => {
                return Ok(Destination {
                    path,
                    is_directory: None,
                });
            }
        }
    }
    let path = path.as_bytes().into();
    Err(CopyPathError::Loop { path }.into())
}

fn found(stat: Result<FileStat, FilesError>) -> Result<Option<FileStat>, FilesError> {
    match stat {
        Ok(stat) => Ok(Some(stat)),
        Err(error) if error.code() == Some(Code::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

impl FilesError {
    /// Returns the kind of error; `None` if the sandbox's files are not its cause.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Guest(ClientError::Files { code, .. }) => Some(*code),
            Self::Path { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound => Some(Code::NotFound),
                _ => Some(Code::FailedPrecondition),
            },
            _ => None,
        }
    }
}
