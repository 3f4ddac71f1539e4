//! Copies between host and sandbox, as `docker cp` makes them.

use std::io::Read;
use std::os::fd::AsFd as _;
use std::path::Path;

use fstree::Name;
use msb_agent_protocol::v1::{FileStat, FileType, PutArchive, WriteFile};
use msb_agent_protocol::{Bytes, CHUNK_MAX_BYTES, ChunkReader, ChunkWriter, ClientError, Code};
use tokio::sync::{mpsc, oneshot};
use tree_archive::{
    ArchiveWriter, PackError, PackOptions, Place, UnpackError, UnpackOptions, Unpacked, pack,
    unpack,
};

use super::copy_path::{CopyPath, Destination, Landing, Source};
use super::local::{self, LINKS_MAX, Packed, host_path};
use super::{ByteStream, CopyError, FilesError, SandboxFiles};

/// Chunks that wait between this host's files and the sandbox.
const PENDING_CHUNKS: usize = 4;

/// How files are copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyOptions {
    /// Files keep their owners, by number; else they are the caller's, or root's in the sandbox.
    pub keep_owner: bool,
    /// A symlink that is named as the source is what it leads to.
    pub follow_link: bool,
    /// What is mounted in the source is left out: directories that lie on another filesystem are empty.
    pub one_file_system: bool,
}

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// Files, directories and links.
    pub entries: u64,
    /// Device nodes of the sandbox that were left out.
    pub devices_left_out: u64,
}

/// Copies a file or a directory of this host into a sandbox.
///
/// # Errors
/// What cannot be read or written, and what docker refuses: a directory onto a file, a destination
/// whose parent is missing.
pub async fn copy_in(
    source: &Path,
    files: &SandboxFiles,
    destination: &[u8],
    options: CopyOptions,
) -> Result<Copied, CopyError> {
    use std::os::unix::ffi::OsStrExt as _;
    let path = CopyPath::new(source.as_os_str().as_bytes())?;
    let destination = sandbox_destination(files, CopyPath::new(destination)?).await?;
    let (source, packed) = local::source(&path, options.follow_link)?;
    let landing = source.landing(&destination)?;
    let start = PutArchive {
        directory: landing.directory.into(),
        keep_owner: options.keep_owner,
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
        // The sandbox wanted no more, and says why.
        Err(PackError::Output(_)) => {}
        other => other?,
    }
    Ok(Copied {
        entries: put?.entries,
        devices_left_out: 0,
    })
}

/// Unpacks a tar archive below a directory of a sandbox.
///
/// # Errors
/// When there is no such directory, or the archive cannot be read or unpacked.
pub async fn put_tar(
    mut archive: impl Read + Send + 'static,
    files: &SandboxFiles,
    destination: &[u8],
    options: CopyOptions,
) -> Result<Copied, CopyError> {
    let destination = sandbox_destination(files, CopyPath::new(destination)?).await?;
    if destination.is_directory != Some(true) {
        return Err(CopyError::NotDirectory {
            path: destination.path.as_bytes().into(),
        });
    }
    let (sender, chunks) = mpsc::channel(PENDING_CHUNKS);
    let (broken, mut why) = oneshot::channel();
    // A thread of its own: it may wait for input for ever.
    std::thread::spawn(move || {
        if let Err(error) = send_all(&mut archive, &sender) {
            // Said before the channel ends, which the sandbox takes for the archive's end.
            let _ = broken.send(error);
        }
        drop(sender);
    });
    let start = PutArchive {
        directory: Bytes::copy_from_slice(destination.path.as_bytes()),
        keep_owner: options.keep_owner,
    };
    let entries = files.put_archive(start, chunks).await?.entries;
    if let Ok(error) = why.try_recv() {
        return Err(local::failed("read", Path::new("standard input"))(error));
    }
    Ok(Copied {
        entries,
        devices_left_out: 0,
    })
}

/// Makes or replaces one file of a sandbox with what there is to read, as a whole: when reading fails, the
/// file stays as it was.
///
/// # Errors
/// When the file cannot be written, or the content cannot be read.
pub async fn write_file(
    mut content: impl Read + Send + 'static,
    files: &SandboxFiles,
    start: WriteFile,
) -> Result<(), CopyError> {
    let (sender, chunks) = mpsc::channel(PENDING_CHUNKS);
    let (broken, mut why) = oneshot::channel();
    // A thread of its own: it may wait for input for ever.
    std::thread::spawn(move || {
        let mut buffer = vec![0; CHUNK_MAX_BYTES];
        loop {
            let chunk = match content.read(&mut buffer) {
                Ok(0) => None,
                Ok(length) => Some(Bytes::copy_from_slice(&buffer[..length])),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    // Said before the channel ends, which the sandbox takes for a cut.
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
        Ok(error) => Err(local::failed("read", Path::new("standard input"))(error)),
        Err(_) => Ok(written?),
    }
}

/// Sends what there is to read, until nobody wants more.
fn send_all(archive: &mut impl Read, sender: &mpsc::Sender<Bytes>) -> std::io::Result<()> {
    let mut buffer = vec![0; CHUNK_MAX_BYTES];
    loop {
        let length = archive.read(&mut buffer)?;
        let chunk = Bytes::copy_from_slice(&buffer[..length]);
        if length == 0 || sender.blocking_send(chunk).is_err() {
            return Ok(());
        }
    }
}

/// Copies a file or a directory of a sandbox to this host.
///
/// # Errors
/// What cannot be read or written, and what docker refuses. What the sandbox sends is written below
/// the destination and nowhere else.
pub async fn copy_out(
    files: &SandboxFiles,
    source: &[u8],
    destination: &Path,
    options: CopyOptions,
) -> Result<Copied, CopyError> {
    use std::os::unix::ffi::OsStrExt as _;
    let destination = CopyPath::new(destination.as_os_str().as_bytes())?;
    let (source, path) = sandbox_source(files, CopyPath::new(source)?, options).await?;
    let landing = source.landing(&local::destination(destination)?)?;
    let directory = local::open_directory(&host_path(&landing.directory))?;
    let archive = files
        .get_archive(path.as_bytes(), b".", options.one_file_system)
        .await?;
    let (sender, chunks) = mpsc::channel(PENDING_CHUNKS);
    let options = unpack_options(landing, options)?;
    let unpacking = tokio::task::spawn_blocking(move || {
        unpack(ChunkReader::new(chunks), directory.as_fd(), &options)
    });
    let received = receive(archive, &sender).await;
    drop(sender);
    let unpacked = unpacking.await.map_err(|_| FilesError::BrokenOff)?;
    outcome(received, unpacked)
}

impl SandboxFiles {
    /// A file or a directory as a tar archive, for standard output: under its own name, `./` where
    /// the content of a directory is asked for.
    ///
    /// # Errors
    /// When there is no such file.
    pub async fn tar(&self, path: &[u8], options: CopyOptions) -> Result<ByteStream, CopyError> {
        let (source, path) = sandbox_source(self, CopyPath::new(path)?, options).await?;
        let name = source.name.unwrap_or_else(|| b".".to_vec());
        Ok(self
            .get_archive(path.as_bytes(), &name, options.one_file_system)
            .await?)
    }
}

/// What broke off first says why.
fn outcome(
    received: Result<(), FilesError>,
    unpacked: Result<Unpacked, UnpackError>,
) -> Result<Copied, CopyError> {
    match (received, unpacked) {
        // The guest's own reason reached the unpacking as an early end.
        (Err(error), _) => Err(error.into()),
        (Ok(()), unpacked) => {
            let unpacked = unpacked?;
            Ok(Copied {
                entries: unpacked.entries,
                devices_left_out: unpacked.devices_left_out,
            })
        }
    }
}

/// Passes an archive on until it ends or nobody wants more.
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
    let name = name.map_err(|_| CopyError::EmptyPath)?;
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
    let place = Place {
        directory: packed.directory.as_fd(),
        name: &packed.name,
    };
    let send = |chunk| sender.blocking_send(chunk).is_ok();
    let mut archive = ArchiveWriter::new(ChunkWriter::new(send));
    pack(place, options, &mut archive)?;
    archive.finish().map(drop).map_err(PackError::Output)
}

/// What is at a path of the sandbox, and where to get it from.
async fn sandbox_source(
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
    Err(CopyError::Loop {
        path: path.as_bytes().into(),
    })
}

/// What is at a path of the sandbox that is copied to, symlinks at its end followed.
async fn sandbox_destination(
    files: &SandboxFiles,
    path: CopyPath,
) -> Result<Destination, CopyError> {
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
    Err(CopyError::Loop {
        path: path.as_bytes().into(),
    })
}

fn found(stat: Result<FileStat, FilesError>) -> Result<Option<FileStat>, FilesError> {
    match stat {
        Ok(stat) => Ok(Some(stat)),
        Err(error) if error.code() == Some(Code::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

impl FilesError {
    /// The kind of reason, where the sandbox's files are it.
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
