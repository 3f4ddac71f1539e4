//! The writer: data as it streams in, then metadata, then the superblock.

mod census;
mod content;
mod emitter;
mod head;
mod image_writer;
mod options;
mod output;
mod plan;
mod source;
mod stored;

pub use image_writer::{ImageWriter, Run, Summary};
pub use options::Options;
