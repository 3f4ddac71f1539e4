//! Images that are written, then read by this crate's reader, by erofs-utils and by the kernel.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod corpus;
mod dumped;
mod examples;
mod foreign;
mod foreign_source;
mod hostile;
mod large;
mod listing;
mod model;
mod mounted;
mod oracle_fsck;
mod oracle_kernel;
mod random;
mod refused;
mod round_trip;
mod samples;
mod shared_runs;
mod sizes;
