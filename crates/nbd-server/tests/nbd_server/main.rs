//! The server through bytes, hostile bytes and a naive model. Clients of other projects are tried by the
//! crate `generations`.

#![allow(
    clippy::unwrap_used,
    clippy::as_conversions,
    clippy::indexing_slicing,
    reason = "a failed step fails its test"
)]

mod handshake;
mod hostile;
mod memory_disk;
mod requests;
mod transcript;
