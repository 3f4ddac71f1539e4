use prost::{Enumeration, Message};

/// The namespaces of a container. Its mount and cgroup namespaces are always its own, and its network is the guest's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Namespaces {
    /// The users of the PID namespace, a [`NamespaceScope`].
    #[prost(enumeration = "NamespaceScope", tag = "1")]
    pub pid: i32,
    /// The users of the IPC namespace, a [`NamespaceScope`].
    #[prost(enumeration = "NamespaceScope", tag = "2")]
    pub ipc: i32,
    /// The users of the UTS namespace, a [`NamespaceScope`].
    #[prost(enumeration = "NamespaceScope", tag = "3")]
    pub uts: i32,
}

/// The users of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum NamespaceScope {
    /// A new namespace, for the container alone.
    Container = 0,
    /// The namespace that the containers of the pod share.
    Pod = 1,
}
