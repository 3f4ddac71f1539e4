//! The functions that each operating system implements.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::{close_inherited_descriptors, renounce, survey};
#[cfg(target_os = "linux")]
pub(crate) use linux::{restrict_calls, restrict_files};

#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
pub use other::{close_inherited_descriptors, renounce, survey};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{restrict_calls, restrict_files};
