//! A disk behind a device, through the queue and the connection of a guest.

#![allow(
    clippy::unwrap_used,
    clippy::as_conversions,
    clippy::indexing_slicing,
    reason = "a failed step fails its test"
)]

mod array;
mod connection;
mod guest;
mod hostile;
mod memory_disk;
mod requests;
mod ring;

use std::sync::mpsc;
use std::time::Duration;

/// Returns the result of some work. Fails if it takes more than 60 s.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    let limit = Duration::from_secs(60);
    receiver.recv_timeout(limit).expect("an end in time")
}
