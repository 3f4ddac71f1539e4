//! Ranges of a blob that are fetched ahead of their turn, each by its own task and connection.
//!
//! ```text
//!             RangeFetch ── 64 KiB ──> Lane ─┐
//! registry ─> RangeFetch ── 64 KiB ──> Lane ─┼─ in order ─> the reader of the blob
//!             RangeFetch ── 64 KiB ──> Lane ─┘
//! ```
//!
//! A lane's memory is reserved before its range is requested, and given back as the range is read. A
//! range that cannot be fetched ends its lane early. That is no error: the download asks for the
//! missing bytes again when their turn comes.

mod answer;
mod fetch;
mod lane;
mod quota;

pub(super) use answer::end_of_answer;
pub(super) use fetch::RangeFetch;
pub(super) use lane::{Lane, lane};
pub(super) use quota::Quota;
