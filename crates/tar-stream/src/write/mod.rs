//! The writer: entries become blocks, with PAX records for values that do not fit.

mod block;
mod records;
mod writer;

pub use writer::ArchiveWriter;
