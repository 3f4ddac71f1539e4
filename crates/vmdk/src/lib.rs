//! VMDK descriptors over flat extents: written and parsed.
//!
//! A descriptor is a text that makes one disk of several files, each taken whole, one after the
//! other. Only the part of the format that every reader understands alike is written: read-write
//! `FLAT` extents from offset 0, named relative to the descriptor
//! ("Virtual Disk Format 5.0", VMware, section "The Descriptor File").
//!
//! ```
//! use vmdk::{Descriptor, FlatExtent};
//!
//! let extents = vec![
//!     FlatExtent { sectors: 8, file_name: "fsmeta.erofs".to_owned() },
//!     FlatExtent { sectors: 2048, file_name: "layer.erofs".to_owned() },
//! ];
//! let descriptor = Descriptor::new(0x1234_5678, extents)?;
//! assert_eq!(Descriptor::parse(&descriptor.render())?, descriptor);
//! assert_eq!(descriptor.total_sectors(), 2056);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod descriptor;
mod parse;
mod render;

pub use descriptor::{
    Descriptor, EXTENTS_MAX, FILE_NAME_MAX_BYTES, FlatExtent, InvalidDescriptor, SECTOR_BYTES,
};
pub use parse::{DESCRIPTOR_MAX_BYTES, ParseError, Problem, ReadError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
