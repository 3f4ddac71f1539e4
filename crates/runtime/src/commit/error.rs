use rootfs_view::ContentError;
use tree_diff::LayerError;

use crate::DiffError;

/// A reason why a sandbox cannot become an image.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The sandbox is running, so its disk changes while it is read.
    #[error("cannot commit sandbox {name} while it is running: its disk changes meanwhile")]
    Running {
        /// Name of the sandbox.
        name: String,
    },
    /// The disks of the sandbox, or of the image, cannot be read.
    #[error("cannot commit sandbox {name}")]
    Disks {
        /// Name of the sandbox.
        name: String,
        /// The error of the disks.
        #[source]
        source: DiffError,
    },
    /// The changes do not make a layer.
    #[error("cannot commit sandbox {name}")]
    Layer {
        /// Name of the sandbox.
        name: String,
        /// The error of the layer.
        #[source]
        source: LayerError<ContentError>,
    },
}
