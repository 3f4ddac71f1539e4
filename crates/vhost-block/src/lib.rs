//! A disk that a guest sees over virtio-blk, served to a VMM that leaves its queue to this process (vhost-user).
//!
//! [`BlockDevice`] carries out the requests of the guest on a [`Disk`](served_disk::Disk), one after the other, on the
//! thread of the queue. The disk is behind a lock that is held for the time of a request: another thread may use the
//! disk between two requests.
//!
//! ```no_run
//! use std::os::unix::net::UnixListener;
//! use std::sync::{Arc, Mutex};
//!
//! use vhost_block::{BlockDevice, Identity};
//!
//! # struct Memory;
//! # impl served_disk::Disk for Memory {
//! #     fn size_bytes(&self) -> u64 { 0 }
//! #     fn read(&mut self, _: &mut [u8], _: u64) -> std::io::Result<()> { Ok(()) }
//! #     fn write(&mut self, _: &[u8], _: u64) -> std::io::Result<()> { Ok(()) }
//! #     fn zero(&mut self, _: u64, _: u64) -> std::io::Result<()> { Ok(()) }
//! #     fn discard(&mut self, _: u64, _: u64) -> std::io::Result<()> { Ok(()) }
//! #     fn flush(&mut self) -> std::io::Result<()> { Ok(()) }
//! # }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let disk = Arc::new(Mutex::new(Memory));
//! let identity = Identity {
//!     serial: "msb-upper".to_owned(),
//!     is_read_only: false,
//! };
//! let device = BlockDevice::new(disk, &identity, |reason| eprintln!("the disk has ended: {reason}"));
//! device.serve(UnixListener::bind("/run/disk.sock")?)?;
//! # Ok(())
//! # }
//! ```
//!
//! The guest is hostile. A request that does not lie on the disk, changes a read-only one, has another length than its
//! kind demands, or names memory that the guest does not have is an error that the guest gets, before the disk sees
//! it. Memory is bounded by [`TRANSFER_BYTES`] and a list of the request's buffers. A queue that breaks its own rules
//! ends the device, and its owner is called.
//!
//! Source: the virtio specification 1.2, section 5.2. Several queues, zones, lifetimes and secure erasure are not
//! offered.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod buffers;
mod config;
mod device;
mod header;
mod range;
mod status;
mod transfer;

pub use config::SERIAL_MAX_BYTES;
pub use device::{BlockDevice, Identity};
pub use transfer::TRANSFER_BYTES;
