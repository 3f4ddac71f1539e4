//! The shim of containerd for runtimes whose pods are machines.
//!
//! containerd runs the program of a runtime with `start`, which starts a process that serves the Task service over
//! ttrpc, one for each pod. [`run`] is that program; a [`Shim`] makes the machine, and a [`Pod`] is it.
//!
//! ```text
//! containerd -- start, delete, -info --> run
//!     |                                   | spawns, with the socket as its standard input
//!     +-- ttrpc: Create, Start, Wait … -> Server -- tasks: states and events -- Pod
//!     +<- ttrpc: events, in their order --+
//! ```
//!
//! Limits: 4,096 processes of a pod that are not deleted, 32 connections, 8,192 events of 16 MiB that wait for
//! containerd. Every call on a machine has a time limit, so no call of containerd but `Wait` waits without one, and
//! every process ends with its machine. `Checkpoint` is not supported.
//!
//! ```
//! use msb_containerd_shim::Log;
//!
//! // Outside of a bundle the lines of the log are lost.
//! Log::open(std::path::Path::new("/nonexistent")).warn("this line is lost");
//! ```

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod bundle;
mod clock;
mod command;
mod events;
mod log;
mod machine;
mod pod;
mod pod_error;
mod server;
mod service;
mod shim;
mod stdio;
mod tasks;

pub use bundle::BundleError;
pub use command::{CommandError, run};
pub use log::Log;
pub use pod::{Container, Exec, Exit, Pod, ProcessName, Running, TerminalSize};
pub use pod_error::PodError;
pub use server::Server;
pub use shim::{Group, Leftovers, Shim};
pub use stdio::StdioError;
pub use tasks::TaskError;
