use std::io;
use std::path::PathBuf;

use generations::BaseError;
use msb_machine_records::TimelineError;
use msb_network::PublishError;

use super::{AdoptError, ConnectError, UpperError};
use crate::mounts::MountError;
use crate::volumes::VolumeError;
use crate::{BootDiskError, KernelError};

/// A failure to create a sandbox. Nothing of the sandbox is left.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// A file or directory of the sandbox cannot be written.
    #[error("cannot create the sandbox in {}", .directory.display())]
    Io {
        /// The directory of all sandboxes, or the sandbox's own.
        directory: PathBuf,
        /// The error of the host's filesystem.
        #[source]
        source: io::Error,
    },
    /// Another sandbox has this name.
    #[error("the name '{name}' is taken by another sandbox")]
    NameTaken {
        /// The name that was asked for.
        name: String,
    },
    /// The name is empty, too long, the host name of a sandbox, or has characters that a sandbox's name cannot have.
    #[error(
        "'{name}' is not a sandbox name: write 1 to 63 letters, digits, '-', '_' or '.', beginning \
         with a letter or digit, without '.msb' at the end"
    )]
    InvalidName {
        /// The name that was asked for.
        name: String,
    },
    /// The command is too long to be sent to the guest.
    #[error("cannot create a sandbox for this command")]
    Command(#[from] msb_agent_protocol::TooLong),
    /// A mount cannot be made.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// A volume cannot be created, found or written.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The upper disk cannot be written.
    #[error("cannot create the sandbox's writable disk")]
    Upper(#[from] UpperError),
    /// The upper disk cannot be made over a disk image.
    #[error("cannot create the sandbox's writable disk")]
    Adopt(#[from] AdoptError),
    /// A directory of the host cannot be staged.
    #[error(transparent)]
    Stage(#[from] staged_image::StoreError),
    /// The generations of another sandbox's disk cannot be shared.
    #[error("cannot share the files of the source's writable disk")]
    Share(#[source] AdoptError),
}

/// A failure to start a sandbox.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No usable kernel was found.
    #[error("cannot boot")]
    Kernel(#[from] KernelError),
    /// The boot disk cannot be provided.
    #[error("cannot boot")]
    BootDisk(#[from] BootDiskError),
    /// The disk image or a layer that the root begins with has changed, or is missing.
    #[error("cannot use the sandbox's root disk")]
    RootDisk(#[from] BaseError),
    /// A port of the host is in use.
    #[error("cannot publish the sandbox's ports")]
    Publish(#[from] PublishError),
    /// The source of a mount is missing, has changed or cannot be used.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// A volume is missing, in use or cannot be read.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The progress of the start cannot be recorded.
    #[error("cannot record the progress of the start")]
    Timeline(#[from] TimelineError),
    /// An operation on the host failed.
    #[error("cannot {action}")]
    Io {
        /// The failed operation, for the message `cannot …`.
        action: &'static str,
        /// The error of the operation.
        #[source]
        source: io::Error,
    },
    /// The VMM process ended before the guest's agent answered.
    #[error("{}", .reason.clone().unwrap_or_else(|| unexplained(.outcome)))]
    Ended {
        /// The exit status of the VMM process, as text.
        outcome: String,
        /// The reason that a process of the sandbox or the guest's agent logged.
        reason: Option<String>,
        /// The other last lines that the VMM process and the guest's kernel printed.
        log_tail: Vec<String>,
    },
    /// The guest's agent did not answer in time.
    #[error("the guest did not answer within {limit_s} s")]
    Silent {
        /// The boot timeout, in seconds.
        limit_s: u64,
        /// The last lines that the VMM process and the guest's kernel printed.
        log_tail: Vec<String>,
    },
    /// The agent's answer cannot be used.
    #[error("cannot use the answer of the guest's agent")]
    Agent(#[source] msb_agent_protocol::ClientError),
    /// The starting process cannot become the sandbox's owner.
    #[error("cannot own the sandbox")]
    Own(#[source] ConnectError),
}

fn unexplained(outcome: &str) -> String {
    format!("the virtual machine ended before its agent answered ({outcome})")
}

impl StartError {
    /// Returns true if the VMM process is known to have run.
    /// The logs in the sandbox's directory are then of this start and not of an earlier one.
    pub const fn is_of_the_machine(&self) -> bool {
        matches!(
            self,
            Self::Ended { .. } | Self::Silent { .. } | Self::Agent(_) | Self::Own(_)
        )
    }
}

/// A failure to remove a sandbox.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// The sandbox is running.
    #[error("sandbox {name} is running")]
    Running {
        /// The sandbox's name.
        name: String,
    },
    /// The sandbox's directory cannot be removed.
    #[error("cannot remove {}", .directory.display())]
    Io {
        /// The sandbox's directory.
        directory: PathBuf,
        /// The error of the host's filesystem.
        #[source]
        source: io::Error,
    },
}
