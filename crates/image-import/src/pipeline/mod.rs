//! The conversion of a layer from blob to artifact: one pass, no temporary files, bounded memory.
//!
//! ```text
//! registry or archive ─> blob digest ─> decompress ─> │ ─> diff ID ─> tar ─> EROFS
//!                        one thread                 chunks  another thread
//! ```

mod artifact_file;
mod budget;
mod chunks;
mod compression;
mod convert;
mod error;
mod recorded;
mod stop;
mod verified;
mod window;
mod write_behind;

pub(crate) use budget::{Budget, Counted, beyond};
pub(crate) use chunks::BodyReader;
pub use compression::Compression;
pub(crate) use compression::{decompress, detect};
pub(crate) use convert::{Converted, convert, outline_path};
pub use error::ConvertError;
pub(crate) use stop::{StopOnDrop, StopSignal, Stoppable};
