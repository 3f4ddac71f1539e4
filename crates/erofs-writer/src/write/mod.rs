//! The writer: data as it streams in, then metadata, then the superblock.

mod addresses;
mod builder;
mod census;
mod content;
mod emitter;
mod image_output;
mod image_writer;
mod options;
mod output;
mod plan;
mod source;
mod stored;
mod superblock;

pub use builder::Builder;
pub use image_output::{ImageOutput, OutputFile};
pub use image_writer::{ImageWriter, Summary};
pub use options::Options;
