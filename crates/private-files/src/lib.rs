//! Files, directories and sockets that only their owner can open, whatever the process's umask is.
//!
//! A umask removes permissions and never adds any, so new files have at most the modes below. An
//! existing file keeps its mode. A file that root makes in another user's directory is given to
//! that user, who could not open it otherwise.

mod directory;
mod file;
mod owner;
mod socket;

pub use directory::{create_directory, ensure_directory, temporary_directory};
pub use file::{create, create_new, open_or_create, temporary_file};
pub use socket::bind;

/// Permission bits of a directory: its owner lists, fills and enters it.
pub const DIRECTORY_MODE: u32 = 0o700;
/// Permission bits of a file or a socket: its owner reads and writes it.
pub const FILE_MODE: u32 = 0o600;
/// The permission bits that let others than the owner in.
pub const OTHERS: u32 = 0o077;
