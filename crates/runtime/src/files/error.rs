use std::io;
use std::path::PathBuf;

use msb_agent_protocol::ClientError;
use tree_archive::{LongPath, PackError, RawPath, UnpackError};

use crate::{ReachError, Target};

/// Why something was not done with a sandbox's files.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The sandbox cannot be reached.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// The guest says why not, or gives no answer.
    #[error(transparent)]
    Guest(#[from] ClientError),
    /// It needs a machine.
    #[error("sandbox {name} is stopped: its files can be read, and changed only while it runs")]
    Stopped {
        /// The sandbox's name.
        name: String,
    },
    /// What is seen there is not on the sandbox's own disk.
    #[error(
        "{path} of sandbox {name} has to do with what is mounted at {target}, which can be seen only while \
         the sandbox runs"
    )]
    Mounted {
        /// The path.
        path: RawPath,
        /// The sandbox's name.
        name: String,
        /// Where it is mounted.
        target: Target,
    },
    /// Something in the directory is not on the sandbox's own disk.
    #[error(
        "{target} in {path} of sandbox {name} is a mount, which can be seen only while the sandbox runs; \
         --one-file-system (-x) leaves mounts out"
    )]
    MountBelow {
        /// The path.
        path: RawPath,
        /// The sandbox's name.
        name: String,
        /// Where it is mounted.
        target: Target,
    },
    /// A path that no archive takes.
    #[error(transparent)]
    LongPath(#[from] LongPath),
    /// The disks of a stopped sandbox cannot be read.
    #[error("cannot read the disks of sandbox {name}")]
    Disks {
        /// The sandbox's name.
        name: String,
        /// Why.
        #[source]
        source: DisksError,
    },
    /// A file of a stopped sandbox.
    #[error("cannot {action} '{path}'")]
    Path {
        /// What was tried.
        action: &'static str,
        /// Its path in the sandbox, or in the archive that was to be made of it.
        path: RawPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// More names than memory is given for.
    #[error("the directory '{path}' has more names than {limit_bytes} bytes hold")]
    TooManyNames {
        /// The directory.
        path: RawPath,
        /// The limit, of names, link targets and what is known of each file.
        limit_bytes: usize,
    },
    /// The work on this host broke off.
    #[error("the work was broken off")]
    BrokenOff,
}

/// Why the disks of a stopped sandbox cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DisksError {
    /// A file that holds a disk, or the sandbox's lock.
    #[error("cannot open them")]
    Io(#[from] io::Error),
    /// The store of images.
    #[error("cannot open the image store")]
    Store(#[from] image_store::OpenError),
    /// The image.
    #[error("its image cannot be had")]
    Image(#[from] image_store::FindError),
    /// What is on them.
    #[error("they make no root filesystem")]
    View(#[from] rootfs_view::OpenError),
}

/// Why files were not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The sandbox's side.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// A file of this host.
    #[error("cannot {action} {}", path.display())]
    Host {
        /// What was tried.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A path that names nothing.
    #[error("a path to copy is empty")]
    EmptyPath,
    /// A directory cannot become a file.
    #[error("cannot copy a directory onto '{path}', which is a file")]
    DirectoryOntoFile {
        /// The destination.
        path: RawPath,
    },
    /// What should be a directory is not there.
    #[error("there is no directory '{path}' to copy into")]
    NoDirectory {
        /// The destination.
        path: RawPath,
    },
    /// An archive only goes into a directory.
    #[error("'{path}' must be a directory: an archive is to be unpacked in it")]
    NotDirectory {
        /// The destination.
        path: RawPath,
    },
    /// Symlinks that lead to each other.
    #[error("'{path}' leads through too many symlinks")]
    Loop {
        /// The path.
        path: RawPath,
    },
    /// The host's files cannot be packed.
    #[error("cannot read what to copy")]
    Pack(#[from] PackError),
    /// What the sandbox sent cannot be unpacked.
    #[error("cannot write what was copied")]
    Unpack(#[from] UnpackError),
    /// The output that takes an archive.
    #[error("cannot write the archive")]
    Output(#[source] io::Error),
}
