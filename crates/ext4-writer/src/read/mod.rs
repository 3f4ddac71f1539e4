//! Reading of images. Every byte of an image is untrusted.

mod blocks;
mod budget;
mod content;
mod descriptor;
mod dirent;
mod error;
mod extent_tree;
mod files;
mod image;
mod indirect;
mod inline;
mod inode;
mod journal;
mod layout;
mod mapping;
mod node;
mod node_reader;
mod tree;
mod walk;
mod xattrs;

pub use budget::METADATA_MAX_BYTES;
pub use content::FileReader;
pub(crate) use descriptor::Group;
pub(crate) use dirent::DirEntry;
pub use error::{Corrupt, OpenError, ReadError, Unsupported};
pub(crate) use error::{Fault, Structure};
pub use files::{Files, READ_MAX_BYTES};
pub use fstree::ReadAt;
pub use image::{Image, Superblock};
pub(crate) use layout::Layout;
pub(crate) use mapping::Mapping;
pub use mapping::{Extent, FileData};
pub(crate) use node::{Body, Node};
pub(crate) use walk::Nodes;
