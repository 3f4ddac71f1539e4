use prost::Message;

use crate::{Cgroup, Device, Mount, Namespaces, Process, Propagation, SeccompFilter};

/// The plan of a container.
///
/// The guest's agent prepares the root filesystem by an earlier call; the plan says what is done with it.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ContainerPlan {
    /// The id of the container.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The main process, with whose end the container ends.
    #[prost(message, required, tag = "2")]
    pub process: Process,
    /// True if the root filesystem is mounted read-only.
    #[prost(bool, tag = "3")]
    pub is_root_read_only: bool,
    /// The propagation of the root mount, set for all mounts below it before any other is made.
    #[prost(enumeration = "Propagation", tag = "4")]
    pub root_propagation: i32,
    /// The host name; empty to keep the name of the UTS namespace.
    #[prost(string, tag = "5")]
    pub hostname: String,
    /// The NIS domain name; empty to keep the name of the UTS namespace.
    #[prost(string, tag = "6")]
    pub domainname: String,
    /// The mounts, made in this order.
    #[prost(message, repeated, tag = "7")]
    pub mounts: Vec<Mount>,
    /// The devices beyond those that every container has: [`STANDARD_DEVICES`](crate::STANDARD_DEVICES).
    #[prost(message, repeated, tag = "8")]
    pub devices: Vec<Device>,
    /// The paths that the container cannot read: an empty read-only tmpfs lies over a directory, `/dev/null` over a
    /// file. A path that does not exist is skipped.
    #[prost(string, repeated, tag = "9")]
    pub masked_paths: Vec<String>,
    /// The paths that are mounted read-only. A path that does not exist is skipped.
    #[prost(string, repeated, tag = "10")]
    pub readonly_paths: Vec<String>,
    /// The kernel parameters of the container's namespaces, written in this order.
    #[prost(message, repeated, tag = "11")]
    pub sysctls: Vec<Sysctl>,
    /// The namespaces that it shares.
    #[prost(message, required, tag = "12")]
    pub namespaces: Namespaces,
    /// The control group, and the values in it.
    #[prost(message, required, tag = "13")]
    pub cgroup: Cgroup,
    /// The filter of system calls, of the main process and of further ones; `None` to allow all.
    #[prost(message, optional, tag = "14")]
    pub seccomp: Option<SeccompFilter>,
}

/// A kernel parameter of a namespace.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Sysctl {
    /// The name with dots, such as `net.ipv4.ip_forward`. A slash in it is a dot in the name of a file.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The value, as it is written to the file.
    #[prost(string, tag = "2")]
    pub value: String,
}
