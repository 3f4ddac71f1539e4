use std::io;
use std::path::PathBuf;

use crate::Layer;

/// Why a process is not confined. It must not go on to run a guest.
#[derive(Debug, thiserror::Error)]
pub enum JailError {
    /// A file that the jail is to leave open cannot be found.
    #[error("cannot let {} through the jail", .path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The kernel has the layer and refused it.
    #[error("cannot {action}")]
    Refused {
        /// What was tried.
        action: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The host's kernel lacks a layer that was required.
    #[error("MSB_JAIL=required, and {layer}")]
    Lacking {
        /// Which layer, and what is lacking.
        layer: Layer,
    },
}
