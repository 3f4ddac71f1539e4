//! Import of images from a registry or an archive into the store.
//!
//! Each layer becomes one EROFS image, in one pass from its source to its file. The layers'
//! metadata is merged into a further EROFS image, and a VMDK descriptor makes one disk of them all.
//!
//! ```no_run
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use image_import::{PullOptions, pull};
//! use image_store::Store;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Store::open(Path::new("/home/user/.msb"))?;
//! let reference = "debian:12".parse()?;
//! let image = pull(&store, &reference, &PullOptions::default(), Arc::new(())).await?;
//! println!("{} boots from {}", reference.familiar(), image.vmdk.display());
//! # Ok(())
//! # }
//! ```
//!
//! All data from a registry or an archive is checked before it is used, and read into bounded
//! memory.

mod add;
mod archive;
mod assemble;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod hints;
mod ingest;
mod load;
mod open_blob;
mod pipeline;
mod pull;
mod repair;

pub use add::{AddError, NewImage, add};
pub use archive::{ArchiveError, Choice, InvalidChoice, Skipped};
pub use assemble::{AssembleError, StoredLayerError};
pub use ingest::ImportError;
pub use load::{LoadError, LoadOptions, LoadSource, Loaded, load};
pub use open_blob::OpenBlob;
pub use pipeline::{Compression, ConvertError};
pub use pull::{PullError, PullOptions, pull};
pub use repair::{Repair, RepairError, repair};
