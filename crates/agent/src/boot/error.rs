use std::io;

/// Why the sandbox cannot be booted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BootError {
    /// A step failed.
    #[error("cannot {action}")]
    Io {
        action: String,
        #[source]
        source: io::Error,
    },
    /// What has to be empty at each start would not be.
    #[error(
        "only a tmpfs can be mounted at {target}: it is /run in the image, and every start makes \
         directories of its own there"
    )]
    OfMemory { target: String },
    /// A disk did not appear.
    #[error("there is no disk with the serial {serial}")]
    NoDisk { serial: String },
}

/// Names the step that failed.
pub(super) fn step<E: Into<io::Error>>(action: &str) -> impl FnOnce(E) -> BootError + '_ {
    move |source| BootError::Io {
        action: action.to_owned(),
        source: source.into(),
    }
}
