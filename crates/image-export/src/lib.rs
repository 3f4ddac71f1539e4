//! Images out of the store: as the archive of `docker save`, as OCI layouts in a tar or in a
//! directory, and [pushed](push) to a registry.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use image_export::{SaveOptions, SaveTarget, save};
//! use image_store::Store;
//!
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Store::open(Path::new("/home/user/.msb"))?;
//! let names = ["debian:12".to_owned()];
//! let target = SaveTarget::Path("debian.tar".into());
//! save(&store, &names, &SaveOptions::default(), target, &|| false)?;
//! # Ok(())
//! # }
//! ```
//!
//! Layers are the tars that were read when they were stored, bit for bit. Entries have no owner and
//! the time 0, so the same images give the same archive.

#![forbid(unsafe_code)]

mod blob;
mod docker;
mod error;
mod oci;
mod output;
mod push;
mod save;
mod selection;

pub use blob::LayerCompression;
pub use error::SaveError;
pub use push::{
    LayerRoute, PushError, PushEvent, PushOptions, PushProgress, Pushed, PushedLayer,
    PushedLayerSize, push,
};
pub use save::{SaveFormat, SaveOptions, SaveTarget, save};
