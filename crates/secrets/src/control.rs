//! The control protocol between a sandbox's clients and its network process, which holds the values.
//!
//! A client sends a request, a JSON object on a line, and receives an answer of the same form. Both sides
//! check that the other one is a process of the same user.

mod answer;
mod client;
mod connect;
mod request;

#[cfg(test)]
mod tests;

pub use answer::{ControlAnswer, SecretState, ValueState};
pub use client::{ControlClient, ControlError};
pub use connect::is_own_peer;
pub use request::ControlRequest;

/// Longest line of either side, in bytes with its end.
pub const LINE_MAX_BYTES: usize = 64 << 10;
