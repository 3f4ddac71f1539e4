//! The content-addressed store of images, each as artifacts that a virtual machine boots from.
//!
//! A layer is one EROFS image, the layers' metadata is merged into a further EROFS image, and a
//! VMDK descriptor makes one disk of them all. Artifacts are named by their input and consist of
//! the same bytes wherever they are made.
//!
//! This crate finds, leases, verifies and removes images. `image-import` makes them: it writes
//! through the modules of this crate, which say what lies where ([`layout`], [`record`]), who may
//! change it ([`lock`]), and how unfinished files become part of the store ([`session`],
//! [`artifacts`]).
//!
//! ```no_run
//! use std::path::Path;
//!
//! use image_store::Store;
//!
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Store::open(Path::new("/home/user/.msb"))?;
//! let image = store.find("debian:12")?;
//! store.check(&image)?;
//! println!("{} is intact", image.vmdk.display());
//! # Ok(())
//! # }
//! ```
//!
//! Any number of processes may use a store at once; `docs/store.md` describes how, and the state
//! after a crash.

pub mod artifacts;
mod check;
mod checksum;
mod compressed;
pub mod documents;
mod extent;
mod find;
pub mod form;
mod inventory;
pub mod kept;
pub mod layout;
mod lease;
pub mod lock;
mod maintenance;
mod older;
pub mod origin;
pub mod outline;
mod pack;
mod packed;
mod progress;
mod prune;
pub mod record;
mod remove;
pub mod session;
pub mod stamp;
mod store;
mod tag;
pub mod tree;
mod usage;
pub mod used;
mod verification;
mod verifier;
mod verify;

pub use artifact_file::{ArtifactFile, OpenError as ArtifactError, Report};
pub use check::{CheckError, Checked};
pub use checksum::{Checksum, InvalidChecksum};
pub use documents::{DocumentsError, ImageDocuments, LayerDescriptor};
pub use extent::{DiskExtent, unit_locks};
pub use find::{FindError, ImageSummary};
pub use form::Form;
pub use layout::FORMAT_VERSION;
pub use lease::ImageLease;
pub use maintenance::{Maintained, MaintenanceOptions};
pub use older::OlderStore;
pub use origin::Origin;
pub use outline::{LayerTar, LayerTarError};
pub use pack::{PackError, Packing};
pub use progress::{Event, LayerSize, Progress};
pub use prune::{PruneError, PruneOptions, Pruned, PrunedImage, Pruning};
pub use record::{
    ErofsRecord, ImageRecord, LayerRecord, OutlineRecord, PackedRecord, StoredImage, VmdkRecord,
};
pub use remove::{Needed, RemoveError, Removed};
pub use stamp::VerifyMode;
pub use store::{OpenError, Store};
pub use tag::TagError;
pub use usage::{ImageUsage, Usage};
pub use verification::{Damage, FileRole, Problem, Verification, VerifyError};
pub use verifier::whole_image;
