use std::error::Error;
use std::io;

/// The error of a container that cannot be made, changed or removed.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// The kernel refused a step.
    #[error("cannot {action}")]
    Io {
        /// The step, such as `mount /proc`.
        action: String,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// The plan asks for something that this guest does not do.
    #[error("{what} is not available in this guest")]
    Unavailable {
        /// The part of the plan, such as `the share entry "a" of the mount /b`.
        what: String,
    },
}

/// Returns the conversion of an error into that of the step `action`.
pub(crate) fn step<E: Into<io::Error>>(
    action: impl Into<String>,
) -> impl FnOnce(E) -> ContainerError {
    move |source| ContainerError::Io {
        action: action.into(),
        source: source.into(),
    }
}

/// Returns an error and its sources as one line.
pub fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    line
}
