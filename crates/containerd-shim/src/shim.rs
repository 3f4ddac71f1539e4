use std::io;
use std::path::PathBuf;

use containerd_protocol::mount::MountCapabilities;

use crate::Pod;

/// A runtime of containerd: the maker of the machines behind its shims.
pub trait Shim {
    /// The machine of a pod.
    type Pod: Pod;

    /// Returns the name of the runtime, such as `io.containerd.msb.v1`.
    fn name(&self) -> &str;

    /// Returns the version of the program.
    fn version(&self) -> &str;

    /// Returns the mounts that the runtime makes itself. containerd makes all others on the host.
    fn mounts(&self) -> MountCapabilities;

    /// Returns the machine of a group, which is not booted yet.
    fn pod(&self, group: &Group) -> Self::Pod;

    /// Kills and removes what is left of a group whose shim has died. It is called for each container of the group, and
    /// more than once.
    ///
    /// # Errors
    /// If something is left.
    fn remove(&self, leftovers: &Leftovers) -> io::Result<()>;
}

/// Containers that share a shim and a machine: a pod, or one container.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Group {
    /// The namespace of the containers.
    pub namespace: String,
    /// The address of containerd, because two of them can have the same ids.
    pub containerd: String,
    /// The id of the sandbox, or of the only container.
    pub id: String,
}

/// A container whose shim has died.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Leftovers {
    /// The namespace of the container.
    pub namespace: String,
    /// The address of containerd.
    pub containerd: String,
    /// The id of the container.
    pub id: String,
    /// The id of the container's group; that of the container if it is not known any more.
    pub group_id: String,
    /// The directory of the bundle, which may be gone.
    pub bundle: PathBuf,
}
