//! The most entries and bytes of a plan's parts.

/// The longest encoded plan, in bytes: less than a message of gRPC between host and guest, which has further fields.
pub const PLAN_MAX_BYTES: usize = 960 << 10;
/// The longest id of a container, in bytes. containerd allows 76.
pub const ID_MAX_BYTES: usize = 128;
/// The longest argument or variable, in bytes: `MAX_ARG_STRLEN` of the kernel, with its NUL byte.
pub const ARGUMENT_MAX_BYTES: usize = (128 << 10) - 1;
/// The longest path, in bytes: `PATH_MAX` of the kernel, without its NUL byte.
pub const PATH_MAX_BYTES: usize = 4095;
/// The longest host or domain name, in bytes: `__NEW_UTS_LEN` of the kernel.
pub const HOST_NAME_MAX_BYTES: usize = 64;
/// The most arguments of a process.
pub const ARGS_MAX: usize = 16_384;
/// The most variables of a process. A pod has about seven for each service of its namespace.
pub const ENV_MAX: usize = 65_536;
/// The most additional groups: `NGROUPS_MAX` of the kernel.
pub const GROUPS_MAX: usize = 65_536;
/// The most mounts. Kubernetes adds about ten to those of a pod.
pub const MOUNTS_MAX: usize = 1024;
/// The longest data of a mount, in bytes: the kernel takes one page with its NUL byte.
pub const MOUNT_DATA_MAX_BYTES: usize = 4095;
/// The most devices beyond the standard ones.
pub const DEVICES_MAX: usize = 256;
/// The most masked paths, and the most read-only paths.
pub const PATHS_MAX: usize = 1024;
/// The most kernel parameters.
pub const SYSCTLS_MAX: usize = 256;
/// The longest value of a kernel parameter, in bytes.
pub const SYSCTL_MAX_BYTES: usize = 4095;
/// The most values of a control group.
pub const CONTROLS_MAX: usize = 128;
/// The longest value of a control group, in bytes.
pub const CONTROL_MAX_BYTES: usize = 4095;
/// The most rules for devices.
pub const DEVICE_RULES_MAX: usize = 256;
/// The most instructions of a filter: `BPF_MAXINSNS` of the kernel.
pub const FILTER_INSTRUCTIONS_MAX: usize = 4096;
