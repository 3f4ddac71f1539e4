//! A sandbox's root filesystem, read from its disks as overlayfs shows it.
//!
//! Below lies the image: an EROFS whose devices are the layers. Above lies what the sandbox wrote:
//! the directory `upper` of an ext4, in the form that overlayfs gives it with
//! `redirect_dir=on,index=on,metacopy=on`. A [`View`] is the tree that the two make, and where each
//! file's content lies. Nothing is written; a journal that was not replayed is replayed in memory.
//!
//! | on the upper disk | what it means |
//! |---|---|
//! | a character device 0:0 | the name is removed |
//! | an empty file with `trusted.overlay.whiteout`, in a directory with `opaque` `x` | the same |
//! | a directory with `trusted.overlay.opaque` `y` | nothing below it shows |
//! | `trusted.overlay.redirect` | the lower file is elsewhere: `/` from the root, or a name beside |
//! | a file with `trusted.overlay.metacopy` | its content is the lower file's |
//! | `work/index`, by the lower file's handle | other names of a lower file are this upper one too |
//! | other `trusted.overlay.*` | overlayfs's own, not shown |
//! | `trusted.overlay.overlay.*` | `trusted.overlay.*` that a nested overlayfs wrote |
//!
//! The upper disk may be hostile: a guest's root can write it block by block. A view takes memory
//! and time in proportion to the two images, whatever they say.

#![forbid(unsafe_code)]

mod attributes;
mod content;
mod error;
mod index;
mod layer;
mod merge;
mod resolve;
mod view;

pub use content::{Content, Segment};
pub use error::{ContentError, OpenError, ResolveError};
pub use fstree::ReadAt;
pub use layer::{layer, stored};
pub use resolve::resolve;
pub use view::View;
