//! The input and output of processes: FIFOs of containerd on one side, streams of the machine on the other.

mod copy;
mod output;
mod paths;

pub(crate) use copy::Copies;
pub use paths::StdioError;
pub(crate) use paths::StdioPaths;
