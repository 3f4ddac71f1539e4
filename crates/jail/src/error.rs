use std::io;
use std::path::PathBuf;

use crate::Layer;

/// The error of a process that could not be confined. It must not run a guest.
#[derive(Debug, thiserror::Error)]
pub enum JailError {
    /// A file that the jail allows cannot be found.
    #[error("cannot allow {} in the jail", .path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of opening it.
        #[source]
        source: io::Error,
    },
    /// The kernel has the layer and refused it.
    #[error("cannot {action}")]
    Refused {
        /// The action that failed, as a verb phrase.
        action: &'static str,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// The host's kernel lacks a required layer.
    #[error("MSB_JAIL=required, and {layer}")]
    Lacking {
        /// The layer, with a description of the missing part.
        layer: Layer,
    },
}
