//! The confinement of a process of msb: a description of the rights it keeps, applied irrevocably.
//!
//! An attacker who takes over a VMM has the rights of its process. So each thread of that process
//! puts on a [`Jail`] before a guest runs: a description of the files, programs and system calls
//! that the thread and everything it starts may still use. [`renounce`] comes first and applies to
//! the process as a whole: privileges, core dumps, limits.
//!
//! ```text
//! renounce   process  no new privileges, no capabilities, no cores, rlimits
//! Jail       thread   Landlock: files and programs by name, no TCP (a network: none to listen on),
//!                               no foreign signals and sockets
//!                     seccomp:  the system calls that are left
//! ```
//!
//! Nothing of this can be undone. The [`Report`] lists the layers that a host lacks; with
//! [`Strictness::Required`] a missing layer is an error. On systems other than Linux every layer is
//! off.

mod error;
mod jail;
mod limits;
mod probe;
mod report;
mod strictness;
mod sys;

pub use error::JailError;
pub use jail::{Access, Calls, Jail};
pub use limits::Limits;
pub use probe::{Attempt, Outcome, Target, attempt_all};
pub use report::{Layer, LayerStatus, Report};
pub use strictness::{JAIL_VARIABLE, Strictness, UnknownStrictness};
pub use sys::{close_inherited_descriptors, renounce, survey};
