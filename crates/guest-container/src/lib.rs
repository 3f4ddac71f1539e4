//! Containers in a guest: a plan applied between clone and exec, and control groups.
//!
//! The guest's agent starts a process in a new PID namespace and in the container's [`Group`]. That process is single-
//! threaded, and applies the plan to itself: [`set_up`] makes the other namespaces and the root filesystem, then
//! [`restrict`] takes the rights away that the program does not have. A further process enters the namespaces of the
//! first one, and calls [`restrict`] alone.
//!
//! ```text
//! agent                        first process of the container
//! Group::create, apply   ->    joins the group, new PID namespace
//!                              set_up: namespaces - root - mounts - devices - sysctls - paths - terminal - pivot
//! Create is answered     <-    ready
//! Start                  ->    restrict: limits - directory - bounding set - user - capabilities - seccomp
//!                              execve
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
mod error;
mod group;
mod limits;
mod point;
mod restrict;
mod seccomp;
mod setup;
mod terminal;

pub use error::ContainerError;
pub use group::{GROUPS_MAX, Group, IoFigures, PIDS_MAX, Stats};
pub use limits::resource;
pub use point::{descriptor_path, file_point, mount_point};
pub use restrict::restrict;
pub use setup::{DEVICE_LINKS, RootSource, SCRATCH, Setup, memory_name, set_up};
pub use terminal::{open_terminal, open_terminal_in};
