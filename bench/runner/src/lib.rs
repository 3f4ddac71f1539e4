//! Filesystem workloads, timed inside the guest with its own monotonic clock.
//!
//! `msb bench fs` puts the program into a sandbox and sends one [`Request`] with the workloads and
//! the places. In each round every place has its turn for each workload, so that changes of the
//! machine's speed affect all of them. The results are lines of JSON, see [`Line`].
//!
//! Data sets are generated from a fixed seed, and everything created is removed at the end.

mod cache;
mod copying;
mod facts;
mod fixture;
mod gaps;
mod layered;
mod lowers;
mod message;
mod mount;
mod program;
mod random;
mod round;
mod samples;
mod sizes;
mod staged;
mod workloads;

pub use facts::facts;
pub use gaps::measure_gaps;
pub use message::{
    BenchTarget, CacheState, Extent, Facts, Line, Lower, Lowers, Mounted, Overlay, Part, Record,
    Request, Suite,
};
pub use round::run;
pub use sizes::Sizes;
pub use staged::{CycleTimes, cycle, time_program};
