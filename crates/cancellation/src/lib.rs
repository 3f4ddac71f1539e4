//! Cancelled changes of sandboxes: done or undone without their caller, before the next call on the sandbox.
//!
//! A caller drops its future at any time. A change that breaks off there would leave a sandbox neither
//! old nor new, so it runs in its own task: it is completed, or it is told and undoes itself, and the next
//! call on the sandbox waits for that.
//!
//! ```
//! use msb_cancellation::{Cleanups, Effect, Unfinished};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let cleanups = Cleanups::default();
//! let unfinished = Unfinished::new(cleanups.clone());
//! let renamed = unfinished.change("sandbox-1", Effect::Slight, async { "web" });
//! assert_eq!(renamed.await, "web");
//! // No change goes on without its caller.
//! unfinished.settled("sandbox-1").await;
//! cleanups.settled().await;
//! # }
//! ```

#![forbid(unsafe_code)]

mod cleanup;
mod unfinished;

pub use cleanup::{Cleanup, Cleanups};
pub use unfinished::{Abandonment, Effect, Unfinished};
