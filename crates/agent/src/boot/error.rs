use std::io;

use msb_sandbox_model::InvalidGuestWord;

/// The reason why the sandbox does not boot.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BootError {
    /// A step of the boot failed.
    #[error("cannot {action}")]
    Io {
        action: String,
        #[source]
        source: io::Error,
    },
    /// The target is `/run`, and the mount is not a tmpfs. The agent makes `/run/msb` in it.
    #[error(
        "only a tmpfs can be mounted at {target}: it is a symlink to /run in the image, and every \
         start creates directories there"
    )]
    OfMemory { target: String },
    /// The kernel cannot mount the root filesystem.
    #[error(
        "the guest's kernel cannot mount {filesystem}, which the root disk has: boot it with \
         vmlinux-filesystems, which is installed with msb, or with the kernel of libkrunfw (MSB_KERNEL)"
    )]
    NoFilesystem { filesystem: String },
    /// The host's settings of the guest cannot be read.
    #[error("cannot read the settings of the guest")]
    Settings(#[source] InvalidGuestWord),
    /// The kernel has no such file below `/proc/sys`.
    #[error("the guest's kernel has no setting {name}, which --sysctl asks for")]
    NoSetting { name: String },
    /// The kernel refuses the value of a setting.
    #[error("the guest's kernel refuses the value that --sysctl gives {name}")]
    Setting {
        name: String,
        #[source]
        source: io::Error,
    },
    /// A disk did not appear within the time limit.
    #[error("the machine has no disk with the serial {serial}")]
    NoDisk { serial: String },
}

/// Returns the conversion of an error into that of the step `action`.
pub(super) fn step<E: Into<io::Error>>(action: &str) -> impl FnOnce(E) -> BootError + '_ {
    move |source| BootError::Io {
        action: action.to_owned(),
        source: source.into(),
    }
}
