//! The files of a sandbox, seen from the host: inspected, read, changed, copied in and out.
//!
//! In a running sandbox the agent reads and writes the files. The files of a stopped sandbox are
//! read from its disks, without a machine.

mod bytes_stream;
mod copy;
mod covered;
mod describe;
mod error;
mod guest_answer;
mod pack_view;
mod sandbox_files;
mod stopped;

pub use bytes_stream::ByteStream;
pub use copy::{Copied, CopyOptions, copy_in, copy_out, put_tar, write_file};
pub use error::{CopyError, FilesError, Side};
pub use sandbox_files::SandboxFiles;

pub(crate) use describe::describe;
pub(crate) use pack_view::pack_view;
