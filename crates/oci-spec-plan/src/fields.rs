//! The fields that are not applied: those that are ignored with a reason, and those that are refused with a remedy.
//!
//! A field that is in neither table and that this crate does not read is refused as unknown. Lists, objects and values
//! that are empty, zero or false count as missing.

/// A field that has no effect in a guest, and is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ignored {
    /// The path of the field, such as `mounts[].type`.
    pub path: &'static str,
    /// The reason why it has no effect.
    pub reason: &'static str,
}

/// A field that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsupported {
    /// The path of the field, such as `mounts[].type`.
    pub path: &'static str,
    /// The reason why it cannot be applied.
    pub reason: &'static str,
    /// The remedy, in the words of Kubernetes or containerd.
    pub remedy: &'static str,
}

/// The fields that are ignored.
pub const IGNORED: [Ignored; 19] = [
    ignore(
        "annotations",
        "the shim reads those that place a container in its pod and size the machine",
    ),
    ignore(
        "root.path",
        "containerd hands the root filesystem over as mounts",
    ),
    ignore("process.capabilities.ambient", AMBIENT),
    ignore("process.apparmorProfile", LABEL),
    ignore("process.selinuxLabel", LABEL),
    ignore("linux.mountLabel", LABEL),
    ignore("linux.resources.cpu.cpus", HOST_PROCESSORS),
    ignore("linux.resources.cpu.mems", HOST_PROCESSORS),
    ignore("linux.resources.unified[\"cpuset.cpus\"]", HOST_PROCESSORS),
    ignore("linux.resources.unified[\"cpuset.mems\"]", HOST_PROCESSORS),
    ignore(
        "linux.resources.memory.kernel",
        "cgroup v2 counts it in memory.max",
    ),
    ignore(
        "linux.resources.memory.kernelTCP",
        "cgroup v2 counts it in memory.max",
    ),
    ignore(
        "linux.resources.memory.swappiness",
        "cgroup v2 has no such value, and a guest has no swap",
    ),
    ignore(
        "linux.resources.memory.useHierarchy",
        "cgroup v2 is always hierarchical",
    ),
    ignore(
        "linux.resources.memory.checkBeforeUpdate",
        "the kernel reclaims memory when a limit sinks",
    ),
    ignore(
        "linux.resources.hugepageLimits[].limit",
        "a guest has no huge pages, so a limit of 0 is kept by itself",
    ),
    ignore(
        "linux.seccomp.flags[]",
        "SECCOMP_FILTER_FLAG_TSYNC has no effect on a process with one thread",
    ),
    ignore(
        "linux.namespaces[].path",
        "a namespace of the VMM process means the pod's, that of the network is the host's side",
    ),
    ignore(
        "mounts[].options[]",
        "silent, loud, defaults and similar options change nothing",
    ),
];

/// The fields that are refused, whatever their value.
pub const UNSUPPORTED: [Unsupported; 25] = [
    refuse(
        "hooks",
        "a hook is a program of the host, and msb runs none",
        "remove the hooks, such as those of a device's vendor",
    ),
    refuse(
        "linux.uidMappings",
        "user namespaces are not supported",
        "run the pod without one (hostUsers: true): the machine separates its users from the host's",
    ),
    refuse(
        "linux.gidMappings",
        "user namespaces are not supported",
        "run the pod without one (hostUsers: true): the machine separates its groups from the host's",
    ),
    refuse("mounts[].uidMappings", ID_MAPPED, WITHOUT_MAPPING),
    refuse("mounts[].gidMappings", ID_MAPPED, WITHOUT_MAPPING),
    refuse(
        "linux.timeOffsets",
        "time namespaces are not supported",
        "run the container without offsets of clocks",
    ),
    refuse(
        "linux.intelRdt",
        "a guest cannot partition the caches of the host",
        "run the container with another runtime",
    ),
    refuse(
        "linux.personality",
        "execution domains are not supported",
        "let the program set its own with setarch(8)",
    ),
    refuse(
        "linux.memoryPolicy",
        "a guest has one memory node",
        "remove the memory policy",
    ),
    refuse(
        "linux.netDevices",
        "devices of the host's network cannot be moved into a guest",
        "attach the network by CNI",
    ),
    refuse("linux.seccomp.listenerPath", LISTENER, NO_LISTENER),
    refuse("linux.seccomp.listenerMetadata", LISTENER, NO_LISTENER),
    refuse(
        "linux.resources.blockIO",
        "the containers of a pod share the disks of the machine",
        "remove the limits and weights of block devices",
    ),
    refuse(
        "linux.resources.rdma",
        "a guest has no RDMA devices",
        "remove the limits of RDMA devices",
    ),
    refuse(
        "linux.resources.network",
        "classes and priorities of packets need cgroup v1",
        "remove the network class",
    ),
    refuse(
        "linux.resources.memory.disableOOMKiller",
        "cgroup v2 cannot disable it",
        "give the container more memory",
    ),
    refuse("linux.resources.cpu.realtimeRuntime", REALTIME, NO_REALTIME),
    refuse("linux.resources.cpu.realtimePeriod", REALTIME, NO_REALTIME),
    refuse(
        "process.scheduler",
        "scheduling policies are not supported",
        "let the program set its own with chrt(1)",
    ),
    refuse(
        "process.ioPriority",
        "priorities of input and output are not supported",
        "let the program set its own with ionice(1)",
    ),
    refuse(
        "process.execCPUAffinity",
        "the processors of the host are not those of the guest",
        "remove the affinity",
    ),
    refuse("process.commandLine", PLATFORM, LINUX_IMAGE),
    refuse("process.user.username", PLATFORM, LINUX_IMAGE),
    refuse("windows", PLATFORM, LINUX_IMAGE),
    refuse("solaris", PLATFORM, LINUX_IMAGE),
];

/// The reason for leaving capabilities out of the ambient set.
pub(crate) const AMBIENT: &str =
    "the kernel raises only capabilities that are permitted and inheritable";
const LABEL: &str = "a guest has no AppArmor and no SELinux; the machine is the wall";
const HOST_PROCESSORS: &str =
    "it numbers the host's processors; the pod's control group on the host has it";
const ID_MAPPED: &str = "id-mapped mounts are not supported";
const WITHOUT_MAPPING: &str = "mount the volume without a mapping of users";
const LISTENER: &str = "a program of the host cannot answer system calls of a guest";
const NO_LISTENER: &str = "use a profile without SCMP_ACT_NOTIFY";
const REALTIME: &str = "cgroup v2 has no limits of real time";
const NO_REALTIME: &str = "remove the limits of real time";
const PLATFORM: &str = "containers run on Linux only";
const LINUX_IMAGE: &str = "use an image for Linux";

/// Returns the reason for ignoring a field; `None` if it is not ignored.
pub(crate) fn ignored(pattern: &str) -> Option<&'static str> {
    let known = IGNORED.iter().find(|known| known.path == pattern)?;
    Some(known.reason)
}

/// Returns the entry of a field that is refused; `None` if it is not in the table.
pub(crate) fn unsupported(pattern: &str) -> Option<Unsupported> {
    UNSUPPORTED.into_iter().find(|known| known.path == pattern)
}

const fn ignore(path: &'static str, reason: &'static str) -> Ignored {
    Ignored { path, reason }
}

const fn refuse(path: &'static str, reason: &'static str, remedy: &'static str) -> Unsupported {
    Unsupported {
        path,
        reason,
        remedy,
    }
}
