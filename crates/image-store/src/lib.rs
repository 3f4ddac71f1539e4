//! Import of images from a registry or an archive into a content-addressed store, as artifacts that
//! a virtual machine boots from.
//!
//! Each layer becomes one EROFS image, in one pass from its source to its file. The layers'
//! metadata is merged into a further EROFS image, and a VMDK descriptor makes one disk of them all.
//! Artifacts are named by their input and consist of the same bytes wherever they are made.
//!
//! ```no_run
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use image_store::{PullOptions, Store};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Store::open(Path::new("/home/user/.msb"))?;
//! let reference = "debian:12".parse()?;
//! let image = store.pull(&reference, &PullOptions::default(), Arc::new(())).await?;
//! store.check(&image)?;
//! println!("{} boots from {}", reference.familiar(), image.vmdk.display());
//! # Ok(())
//! # }
//! ```
//!
//! Any number of processes may use a store at once; `docs/store.md` describes how, and the state
//! after a crash. All data from a registry or an archive is checked before it is used, and read
//! into bounded memory.

mod archive;
mod checksum;
mod digest;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod image;
mod ingest;
mod load;
mod pipeline;
mod platform;
mod progress;
mod pull;
mod reference;
mod registry;
mod store;
mod text;

pub use archive::ArchiveError;
pub use checksum::{Checksum, InvalidChecksum};
pub use digest::{Digest, InvalidDigest};
pub use image::{ImageConfig, ManifestError};
pub use ingest::ImportError;
pub use load::{LoadError, LoadOptions, LoadSource};
pub use oci_layers::{Exceeded, InvalidLimit, Limit, Limits, Note, Unit};
pub use pipeline::{Compression, ConvertError};
pub use platform::{InvalidPlatform, Platform};
pub use progress::{Event, LayerSize, Progress};
pub use pull::{PullError, PullOptions};
pub use reference::{InvalidReference, ManifestDigest, Reference};
pub use registry::{
    ConnectError, Credential, CredentialSource, CredentialsError, Proxies, Registries,
    RegistriesError, RegistryError, RegistryLimits, RegistrySettings, configured_registries,
};
pub use store::{
    AssembleError, CheckError, Damage, ErofsRecord, FORMAT_VERSION, FindError, Hold, ImageRecord,
    ImageSummary, ImageUsage, LayerRecord, Needed, OpenError, Origin, Part, Problem, PruneError,
    PruneOptions, Pruned, PrunedImage, Pruning, RemoveError, Removed, Repair, RepairError, Store,
    StoredImage, StoredLayerError, Trust, Usage, Verification, VerifyError, VmdkRecord,
};
