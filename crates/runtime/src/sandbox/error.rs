use std::io;
use std::path::PathBuf;

use msb_network::PublishError;

use crate::mounts::MountError;
use crate::volumes::VolumeError;
use crate::{BootDiskError, KernelError, TimelineError};

use super::UpperError;

/// Why a sandbox was not created. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// Its directory cannot be written.
    #[error("cannot create the sandbox in {}", .directory.display())]
    Io {
        /// Where sandboxes live.
        directory: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Another sandbox has this name.
    #[error("the name '{name}' is taken by another sandbox")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The name is not one a host may have.
    #[error(
        "'{name}' is not a sandbox name: 1 to 63 letters, digits, '-', '_' or '.', a letter or digit first"
    )]
    InvalidName {
        /// The name.
        name: String,
    },
    /// Its command could not be told to the guest.
    #[error("cannot create a sandbox for this command")]
    Command(#[from] msb_agent_protocol::TooLong),
    /// What it is to see cannot be mounted.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// A volume cannot be had.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// Its upper disk cannot be made.
    #[error("cannot create the sandbox's writable disk")]
    Upper(#[from] UpperError),
}

/// Why a sandbox did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no kernel to boot.
    #[error("cannot boot")]
    Kernel(#[from] KernelError),
    /// There is no boot disk.
    #[error("cannot boot")]
    BootDisk(#[from] BootDiskError),
    /// A port of the host is not free.
    #[error("cannot publish the sandbox's ports")]
    Publish(#[from] PublishError),
    /// What it is to see is not there.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// A volume cannot be had.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// It cannot be noted how far the start is.
    #[error("cannot note how far the start is")]
    Timeline(#[from] TimelineError),
    /// Something on the host failed.
    #[error("cannot {action}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The VMM's process ended before the guest's agent answered.
    #[error("the virtual machine ended before its agent answered ({outcome})")]
    Ended {
        /// The process's exit status.
        outcome: String,
        /// The last lines that it and the guest's kernel printed.
        last_words: Vec<String>,
    },
    /// The guest's agent did not answer in time.
    #[error("the guest did not answer within {limit_s} s")]
    Silent {
        /// How long it was waited for.
        limit_s: u64,
        /// The last lines that the guest's kernel printed.
        last_words: Vec<String>,
    },
    /// The agent answered, and not as it should.
    #[error("the guest's agent gave an unusable answer")]
    Agent(#[source] msb_agent_protocol::ClientError),
}

impl StartError {
    /// Whether the machine's process was started, so that what lies in the sandbox's directory is of
    /// this start and no earlier one.
    pub const fn is_of_the_machine(&self) -> bool {
        matches!(
            self,
            Self::Ended { .. } | Self::Silent { .. } | Self::Agent(_)
        )
    }
}

/// Why a sandbox was not removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// It runs.
    #[error("sandbox {name} is running")]
    Running {
        /// Its name.
        name: String,
    },
    /// Its directory cannot be removed.
    #[error("cannot remove {}", .directory.display())]
    Io {
        /// Which directory.
        directory: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}
