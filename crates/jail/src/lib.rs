//! What a process of msb may still do, said as a value and put on for good.
//!
//! Whoever takes over a VMM has the rights of its process. So each thread of that process, before a
//! guest runs, puts on a [`Jail`]: a description of the files, programs and system calls that are
//! left to it and to whatever it starts. What holds for the process as a whole goes first, with
//! [`renounce`]: privileges, core dumps, limits.
//!
//! ```text
//! renounce   process  no new privileges, no capabilities, no cores, rlimits
//! Jail       thread   Landlock: files and programs by name, no TCP (a network: none to listen on),
//!                               no foreign signals and sockets
//!                     seccomp:  the system calls that are left
//! ```
//!
//! Nothing of it can be taken off again. A host that lacks a layer is told of in the [`Report`];
//! with [`Strictness::Required`] that is an error. On other systems than Linux every layer is off.

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
pub use report::{Layer, Report, Standing};
pub use strictness::{JAIL_VARIABLE, Strictness, UnknownStrictness};
pub use sys::{keep_descriptors_from_children, renounce, survey};
