//! The reader: an image as a value. Every byte of it is hostile.

mod content;
mod error;
mod extents;
mod files;
mod image;
mod node;
mod node_reader;
mod pages;
mod tree;
mod walk;
mod xattrs;

pub use content::FileReader;
pub use error::{Corrupt, OpenError, ReadError, Unsupported};
pub(crate) use error::{Fault, Structure};
pub use files::{Files, READ_MAX_BYTES};
pub(crate) use fstree::ReadAt;
pub use image::{Image, Superblock};
pub(crate) use node::{Body, Node, Spans};
pub(crate) use pages::Pages;
pub(crate) use walk::Nodes;
