//! A filter between programs of a guest and the host's SSH agent (draft-miller-ssh-agent).
//!
//! Programs can list the keys and sign with them. Everything else is answered with a failure here, and the agent does
//! not hear of it: adding and removing keys, locking, smartcards and extensions.

mod answer;
mod fingerprint;
mod frame;
mod pass;
mod reader;
mod request;

pub use answer::{Answer, BadAnswer};
pub use fingerprint::fingerprint;
pub use frame::{FRAME_MAX_BYTES, Frames, TooLong};
pub(crate) use pass::pass;
pub use request::Request;

/// The answer that a request was not carried out: `SSH_AGENT_FAILURE`.
pub const FAILURE: u8 = 5;
