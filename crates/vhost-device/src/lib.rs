//! A virtio device whose queues a VMM leaves to this process (vhost-user).
//!
//! ```text
//! guest ── requests in queues in its memory ──> this process ── Answer ──> files, disks
//! VMM   ── where those queues lie, once ──────>
//! ```
//!
//! [`Device`] is what all such devices have in common: the queues, the guest's memory, the configuration space and
//! the connection with the VMM. An [`Answer`] is what makes a device a disk or a filesystem. It may answer a request
//! at once, or keep it and answer it after later ones.
//!
//! ```
//! use std::io;
//!
//! use vhost_device::{Answer, Description, Device, Request};
//!
//! /// A device that gives every request back without an answer in it.
//! struct Silent;
//!
//! impl Answer for Silent {
//!     fn answer(&self, request: Request) -> io::Result<()> {
//!         request.end(0)
//!     }
//! }
//!
//! let description = Description {
//!     queues: 1,
//!     features: 0,
//!     config: Vec::new(),
//! };
//! let device = Device::new(Silent, description);
//! // `device.serve("silent", listener)` accepts the connection of a VMM.
//! # drop(device);
//! ```
//!
//! The guest is hostile. A queue that breaks its own rules ends: the device takes no further request of it, and
//! [`Answer::give_up`] learns why. It also does if the thread of the queues ends for another reason, as by a panic. A
//! request is a list of buffers that lie in the guest's memory or cannot be read; its content is up to the [`Answer`].

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod answer;
mod description;
mod device;
mod error;
mod request;
mod serve;
mod thread_end;

pub use answer::Answer;
pub use description::Description;
pub use device::Device;
pub use error::ServeError;
pub use request::{Buffers, Loaded, Memory, Request};
