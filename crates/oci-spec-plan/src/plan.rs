use container_plan::{ContainerPlan, PodMemory};

/// The pod of a container, as far as a plan depends on it. The default is a pod without another container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    /// The processors of the guest.
    pub architecture: Architecture,
    /// The pid of the VMM process, which every task of the pod reports; `None` for the container that boots the
    /// machine. containerd names the pod's namespaces by it.
    pub vmm_pid: Option<u32>,
    /// The number of the first entry in the pod's share that is free.
    pub first_share_entry: usize,
    /// The directories of the host that are memory of the guest.
    pub memory: Vec<MemoryVolume>,
}

/// The processors of a guest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// x86-64, which also runs programs for 32-bit x86.
    #[default]
    X86_64,
    /// 64-bit Arm, without programs for 32-bit Arm.
    Aarch64,
}

/// A directory of the host that is a tmpfs of the pod in the guest, such as that for `/dev/shm`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryVolume {
    /// The absolute path on the host. A mount of a directory below it is one of the same directory of the tmpfs.
    pub host_path: String,
    /// The tmpfs; its `path` is replaced.
    pub memory: PodMemory,
}

/// The plan that a specification becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecPlan {
    /// The part of the guest.
    pub container: ContainerPlan,
    /// The part of the host.
    pub host: HostPart,
    /// The fields that were ignored.
    pub notes: Vec<Note>,
}

/// The part of a specification that is the host's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostPart {
    /// The files and directories that belong into the pod's share.
    pub binds: Vec<HostBind>,
    /// The path of the pod's network namespace on the host; `None` for a network without interfaces.
    pub network_namespace: Option<String>,
    /// The path of the container's control group on the host; empty if the specification has none.
    pub cgroups_path: String,
}

/// A file or directory of the host that a container sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostBind {
    /// The absolute path on the host.
    pub source: String,
    /// The name of its entry in the pod's share.
    pub entry: String,
    /// True if the guest must not write to it.
    pub is_read_only: bool,
    /// True if the mounts below the source belong to it.
    pub is_recursive: bool,
}

/// A field that was ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The path of the field, such as `process.apparmorProfile`.
    pub path: String,
    /// The reason why it has no effect.
    pub reason: &'static str,
}
