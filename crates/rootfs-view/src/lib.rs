//! A sandbox's root filesystem, read from its disks as overlayfs shows it.
//!
//! Below lies the image: an EROFS filesystem whose devices are the layers. Above lies the upper
//! disk with the writes of the sandbox: the directory `upper` of an ext4 filesystem, in the form
//! that overlayfs writes with `redirect_dir=on,index=on,metacopy=on`. A [`View`] is the merged
//! tree, with the location of each file's content and the [`Origin`] of each inode. Nothing is
//! written; a journal that was not replayed is replayed in memory.
//!
//! | On the upper disk | Meaning |
//! |---|---|
//! | a character device 0:0 | the name is removed |
//! | an empty file with `trusted.overlay.whiteout`, in a directory with `opaque` `x` | the same |
//! | a directory with `trusted.overlay.opaque` `y` | the lower directory does not show |
//! | `trusted.overlay.redirect` | path of the lower file: `/` from the root, or a name beside |
//! | a file with `trusted.overlay.metacopy` | its content is the lower file's |
//! | a file in `work/index`, named by a lower file's handle | replaces that file under all names |
//! | other `trusted.overlay.*` | internal to overlayfs, not shown |
//! | `trusted.overlay.overlay.*` | `trusted.overlay.*` that a nested overlayfs wrote |
//!
//! Staged directories of the host are overlays, too: the directory `staged/N` of the upper disk over the
//! directory `N` of one EROFS image: [`View::open_staged`].
//!
//! A native root is the directory `upper` of an ext4 filesystem that has all of the sandbox's files itself, and the
//! image is only the tree that it began with: [`View::open_native`].
//!
//! The upper disk may be hostile: root in the guest can write any block of it. A view takes memory
//! and time in proportion to the two images, whatever they contain.

#![forbid(unsafe_code)]

mod attributes;
mod content;
mod error;
mod image;
mod index;
mod layer;
mod let_in;
mod merge;
mod origin;
mod resolve;
mod staged;
mod view;

pub use content::Content;
pub use error::{ContentError, OpenError, ResolveError};
pub use fstree::{ReadAt, Segment};
pub use image::shown_image;
pub use layer::{layer, stored};
pub use origin::Origin;
pub use resolve::resolve;
pub use view::View;
