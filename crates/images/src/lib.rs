//! Images: pulled, pushed, loaded, saved, listed, inspected, verified, packed and removed.
//!
//! [`Images`] is the handle. A pull and a push tell their progress as [`PullEvent`]s and [`PushEvent`]s.
//! The work itself is that of `image-import`, `image-export` and `image-store`: here options become theirs,
//! sandboxes say which images they need, and the limit of the store is kept.
//!
//! ```no_run
//! # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
//! let image = msb.images().pull("alpine").platform("linux/amd64").await?;
//! msb.images().save([image.digest()], "alpine.tar").await?;
//! # Ok(())
//! # }
//! ```

mod budget;
mod event;
mod event_queue;
mod history;
mod image;
mod images;
mod load;
mod login;
mod not_found;
mod options;
mod pack;
mod progress;
mod prune;
mod pull;
mod push;
mod push_event;
mod remove;
mod save;
mod tag;
mod verify;
mod warnings;
mod watched;

pub use image_export::{LayerCompression, LayerRoute, SaveFormat};

pub use event::{LayerSize, PullEvent};
pub use history::HistoryStep;
pub use image::{Image, ImageInfo};
pub use images::Images;
pub use load::LoadRequest;
pub use login::{LoggedIn, LoggedOut, LoginOptions};
pub use options::{LoadOptions, PruneOptions, PullOptions, PullPolicy, SourceOptions, limits};
pub use pack::{PackProgress, PackRequest, PackedImage};
pub use progress::{Observer, observed};
pub use prune::{Pruned, PrunedImage};
pub use pull::{Pull, PullRequest, pull_into};
pub use push::{Push, PushOptions, PushRequest, Pushed, PushedLayer};
pub use push_event::PushEvent;
pub use remove::RemovedImage;
pub use save::{SaveOptions, SaveRequest};
pub use verify::{DamagedFile, Verified, VerifyRequest};
