//! The messages that containerd and its shims exchange, as values that `prost` reads and writes.
//!
//! ```
//! use containerd_protocol::events::{self, TaskExit};
//! use containerd_protocol::{Any, Message as _};
//!
//! let exit = TaskExit {
//!     container_id: "web".to_owned(),
//!     id: "web".to_owned(),
//!     pid: 42,
//!     exit_status: 137,
//!     exited_at: None,
//! };
//! let any = Any::pack(&exit);
//! assert_eq!(any.type_url, "containerd.events.TaskExit");
//! assert_eq!(events::TOPIC_EXIT, "/tasks/exit");
//! assert_eq!(any.unpack::<TaskExit>(), Some(Ok(exit)));
//! assert_eq!(TaskExit::default().encode_to_vec(), b"");
//! ```
//!
//! | Module | Messages of |
//! |---|---|
//! | [`task`] | the Task service of a shim, versions 2 and 3, which have the same messages |
//! | [`events`] | the events of tasks, and the service that takes them |
//! | [`bootstrap`] | the start of a shim, and its description |
//! | [`mount`] | mounts of root filesystems, and the kinds that a shim makes itself |
//! | [`metrics`] | the statistics of cgroup v2 |
//! | [`options`] | the options of a runtime in containerd's configuration |
//! | [`services`] | containerd's own services: containers, images, snapshots, content |
//!
//! Fields that no side of msb uses are left out, and are skipped when they are read. The field numbers are those of
//! containerd 1.6 to 2.4.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

pub mod bootstrap;
pub mod events;
pub mod metrics;
pub mod mount;
pub mod options;
pub mod services;
pub mod task;

mod any;

pub use any::{Any, Empty, Named, Timestamp};
pub use prost::{DecodeError, Message};
