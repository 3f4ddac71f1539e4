//! Filesystem workloads, timed where they run: inside the guest, with its own monotonic clock.
//!
//! `msb bench fs` puts the program into a sandbox and says in one [`Request`] what to measure and
//! where. For each round and each workload every place has its turn, so that a machine whose speed
//! drifts drifts under all of them. What is found comes back a JSON line each, see [`Line`].
//!
//! Data sets are made from a fixed seed, and what is made is removed at the end.

mod cache;
mod copying;
mod facts;
mod layered;
mod lowers;
mod message;
mod mount;
mod program;
mod random;
mod round;
mod samples;
mod scene;
mod sizes;
mod workloads;

pub use facts::facts;
pub use message::{
    CacheState, Extent, Facts, Line, Lower, Lowers, Mounted, Overlay, Part, Place, Record, Request,
    Suite,
};
pub use round::run;
pub use sizes::Sizes;
