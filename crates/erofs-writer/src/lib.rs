//! EROFS images: written, read, verified and dumped.

mod file_data;

pub use file_data::{Extent, FileData};
