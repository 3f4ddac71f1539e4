//! Files that are complete or absent after a crash, and files, directories and sockets that only
//! their owner can open, whatever the process's umask is.
//!
//! [`publish`] makes a file durable: a temporary file is written and synced, renamed, and its
//! directory is synced. [`FileState`] says whether a file has changed since it was checked, and [`flock`]
//! has the locks that end with their holders. [`each_at_once`] waits for the syncs of many files together.
//! [`punch`] frees a part of a file, and [`remove_files`] the space of files that the host's kernel still
//! keeps.
//!
//! A umask removes permissions and never adds any, so new files have at most the modes below. An
//! existing file keeps its mode. A file that root makes in another user's directory is given to
//! that user, who could not open it otherwise.

mod allocation;
mod clock;
mod directory;
mod each_at_once;
mod file;
mod file_state;
pub mod flock;
mod owner;
mod publish;
mod punch;
mod randomness;
mod regular;
mod removed_files;
mod socket;
mod unfinished;

pub use allocation::allocated_bytes;
pub use clock::{now_ns, now_s};
pub use directory::{create_directory, directory_of, ensure_directory, temporary_directory};
pub use each_at_once::each_at_once;
pub use file::{create, create_new, open_or_create, temporary_file};
pub use file_state::{CLOCK_TICK, FileState, time_to_rest};
pub use publish::{
    UNFINISHED, holds, publish, publish_bytes, publish_in_order, publish_once, rename_all,
    replace_bytes, sync_directory, write_new,
};
pub use punch::punch;
pub use randomness::random;
pub use regular::open_regular;
pub use removed_files::remove_files;
pub use socket::bind;
pub use unfinished::{UnfinishedDirectory, UnfinishedFile, leftovers};

/// Permission bits of a directory: its owner lists, fills and enters it.
pub const DIRECTORY_MODE: u32 = 0o700;
/// Permission bits of a file or a socket: its owner reads and writes it.
pub const FILE_MODE: u32 = 0o600;
/// The permission bits that let others than the owner in.
pub const OTHERS: u32 = 0o077;
