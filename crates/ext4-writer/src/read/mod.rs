//! The reader: an image as a value, every byte of it hostile.

mod blocks;
mod budget;
mod content;
mod descriptor;
mod dirent;
mod error;
mod extent_tree;
mod image;
mod indirect;
mod inline;
mod inode;
mod journal;
mod layout;
mod mapping;
mod node;
mod node_reader;
mod read_at;
mod tree;
mod walk;
mod xattrs;

pub use content::FileReader;
pub use error::{Corrupt, OpenError, ReadError, Unsupported};
pub(crate) use error::{Fault, Structure};
pub use image::{Image, Superblock};
pub use mapping::{Extent, FileData};
pub use read_at::ReadAt;
