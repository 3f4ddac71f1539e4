//! Directories of the host as one EROFS image, the lower files of staged mounts.
//!
//! [`list`] walks the directories and follows no symlink. A [`Listing`] has a key: the digest of all names
//! and stamps. Directories with an equal key have equal files, so their image is written once and shared:
//! [`StagedImages::stage`] gives it a second name.
//!
//! ```text
//! image  /       mode 755
//!        /0      the first directory, with owners, modes, times and user.* xattrs as on the host
//!        /1      the second one
//! ```
//!
//! | File of the host | In the image |
//! |---|---|
//! | regular file, directory, symlink, FIFO | as it is; holes stay holes, hard links stay one file |
//! | socket, device | left out |
//! | hidden by a rule (`hide`, `ask`) | left out, with all its hard links |
//! | denied by a rule (`deny`) | an empty file or directory of mode 0; its other hard links are left out |
//! | hidden or denied directory with a file that a nearer rule shows | the directory with only such files |
//!
//! A file that changes while it is read is read again, up to three times; one that is removed is left out.
//! The directory is not read at one moment, so an image may have a part of what a build writes meanwhile.

#![forbid(unsafe_code)]

mod error;
mod foreign;
mod found;
mod host;
mod key;
mod left_out;
mod let_in;
mod listing;
mod notices;
mod stamp;
mod store;
mod walk;
mod write;

pub use error::StageError;
pub use foreign::{ForeignImageError, check_foreign};
pub use found::Source;
pub use key::Key;
pub use let_in::LetInImages;
pub use listing::{Listing, list};
pub use notices::Notices;
pub use store::{StagedImages, StoreError, StoredImage};
