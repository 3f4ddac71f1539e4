//! Containers in a guest: a plan applied between clone and exec, and control groups.
//!
//! The guest's agent starts its own program in a new PID namespace and moves it to the container's [`Group`]. There it
//! is [`become_process`], single-threaded, which applies the plan to itself: it makes the other namespaces and the root
//! filesystem, takes the rights away that the plan does not give, and executes the plan's program. A further process
//! enters the namespaces of the first one, and takes rights away alone.
//!
//! ```text
//! agent                        its program, as the first process of the container
//! Group::create           ->   new PID namespace
//! send_parts              ->   namespaces - root - mounts - devices - sysctls - paths - terminal - pivot
//!                              limits - directory - bounding set - user - capabilities - filter of system calls
//! receive_answer          <-   ready
//! send_go                 ->   Replacement::execute
//! ```
//!
//! Everything is mounted in the container's mount namespace, so it goes with the last process, whatever ends that. No
//! path leads out of the container's root: each is resolved below it by openat2(2), and is then used by its descriptor.
//!
//! # Limits
//!
//! The plan bounds every list. A [`Group`] lists at most [`PIDS_MAX`] processes, and removes at most [`GROUPS_MAX`]
//! groups that the container has made in it.

mod attributes;
mod control;
mod error;
mod group;
mod limits;
mod point;
mod process;
mod replacement;
mod restrict;
mod seccomp;
mod setup;
mod terminal;

pub use control::{Answer, receive_answer, send_go, send_parts};
pub use error::{ContainerError, chain};
pub use group::{GROUPS_MAX, Group, PIDS_MAX};
pub use limits::resource;
pub use point::{descriptor_path, file_point, mount_point};
pub use process::{Found, PROGRAM_NAME, become_process};
pub use replacement::Replacement;
pub use setup::{DEVICE_LINKS, RootSource, SCRATCH, memory_name};
