use std::collections::BTreeMap;
use std::path::PathBuf;

use msb_sandbox_model::{GuestSettings, Restart, Size};
use msb_secrets::Secret;
use serde::{Deserialize, Serialize};

use super::RootDisk;
use crate::{
    Environment, Mount, Network, Port, PullPolicy, SourceOptions, TerminalSize, Text, Ulimit,
    VmmChoice,
};

/// Everything that a new sandbox can be given. All fields but `image` have defaults.
///
/// [`Sandboxes::run`](crate::Sandboxes::run) and [`Sandboxes::create`](crate::Sandboxes::create)
/// fill it in; a program that has it as data passes it to
/// [`run_with`](crate::Sandboxes::run_with) or [`create_with`](crate::Sandboxes::create_with).
///
/// ```
/// use msb_sdk::SandboxOptions;
///
/// let json = r#"{"image": "alpine", "memory": "512M", "env": {"A": "1"}}"#;
/// let options: SandboxOptions = serde_json::from_str(json)?;
/// assert_eq!(options.image, "alpine");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SandboxOptions {
    /// The image, by name or digest; empty if `from_sandbox` or `root_disk` is given.
    pub image: String,
    /// A sandbox, by name or id, or `SANDBOX@SNAPSHOT`: the new one has its image and begins with its
    /// files, which both share until they are written. Its options are not taken over.
    pub from_sandbox: Option<String>,
    /// A disk image whose filesystem is the root, instead of an image.
    pub root_disk: Option<RootDisk>,
    /// True if the root is one ext4 with the image's files, whose content stays in the layers, instead of an
    /// overlay: a change of a large file then takes the blocks that change, not a copy of the file.
    pub native_root: bool,
    /// The sandbox's name; its id if `None`.
    pub name: Option<String>,
    /// Labels, for [`Sandboxes::list`](crate::Sandboxes::list).
    pub labels: BTreeMap<String, String>,
    /// The main command, with which the sandbox ends. `None` runs no command: the sandbox lives
    /// until it is stopped. An empty list runs the image's own command.
    pub command: Option<Vec<Text>>,
    /// Program to run instead of the image's Entrypoint; an empty one is no entrypoint.
    pub entrypoint: Option<String>,
    /// Environment variables of the main command and later ones.
    pub env: Environment,
    /// Working directory of commands, an absolute path; it is made if it is missing.
    pub cwd: Option<String>,
    /// User of commands, as `user[:group]`, by names or numbers.
    pub user: Option<String>,
    /// Groups of commands besides the user's, by names or numbers.
    pub groups: Vec<String>,
    /// Resource limits of commands, by name: `nofile`, `nproc`, `core`.
    pub ulimits: BTreeMap<String, Ulimit>,
    /// The terminal of the main command; `None` if it gets pipes.
    pub tty: Option<TerminalSize>,
    /// True if the main command's standard input stays open for attached clients.
    pub stdin: bool,
    /// Number of virtual processors; the host's, at most 4, if `None`.
    pub cpus: Option<u8>,
    /// Guest memory; 1 GiB if `None`.
    pub memory: Option<Size>,
    /// Size of the writable disk, which is sparse; 8 GiB if `None`.
    pub disk: Option<Size>,
    /// Without effect: snapshots can be taken of each sandbox while it runs.
    pub snapshots: bool,
    /// True if a snapshot is taken before each command that is run in the sandbox, so that it can be undone.
    pub snapshot_commands: bool,
    /// The number of commands whose snapshots are kept, from 1 to 400; 50 if `None`. Older ones are removed in the
    /// background.
    pub undo_limit: Option<u32>,
    /// The settings of the guest.
    #[serde(flatten)]
    pub guest: GuestSettings,
    /// Mounts.
    pub mounts: Vec<Mount>,
    /// Ports of the sandbox that ports of the host lead to.
    pub ports: Vec<Port>,
    /// True if a free port of the host leads to each port that the image exposes.
    pub publish_all: bool,
    /// The destinations that the sandbox reaches.
    pub network: Network,
    /// Secrets that programs use in requests and cannot read.
    pub secrets: Vec<Secret>,
    /// True if programs trust the certificate authorities that this host trusts.
    pub host_ca: bool,
    /// Files of the host to copy before the first boot.
    pub copy: Vec<CopyIn>,
    /// Directories to make before the first boot.
    pub make_directories: Vec<NewDirectory>,
    /// Paths of the image to leave out.
    pub remove_paths: Vec<String>,
    /// Lines to add to `/etc/hosts`.
    pub hosts: Vec<HostName>,
    /// The sandbox is stopped this long after its start, in ms, rounded up to seconds.
    pub max_duration_ms: Option<u64>,
    /// The sandbox is stopped once no client was connected and no job has run for this long, in ms,
    /// rounded up to seconds.
    pub idle_timeout_ms: Option<u64>,
    /// The condition under which the main command is started again.
    pub restart: Restart,
    /// Signal that asks the main command to end; the image's if `None`, or SIGTERM.
    pub stop_signal: Option<String>,
    /// Time that a stop gives processes to end, in ms, rounded up to seconds; 10 s if `None`.
    pub stop_timeout_ms: Option<u64>,
    /// True if the sandbox is removed once it has stopped. A sandbox that its handle owns always
    /// is.
    pub remove_when_stopped: bool,
    /// The condition under which the image is pulled.
    pub pull: PullPolicy,
    /// The source of the image.
    #[serde(flatten)]
    pub source: SourceOptions,
    /// The parameters of the start.
    #[serde(flatten)]
    pub start: StartOptions,
}

/// The parameters of a start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct StartOptions {
    /// The virtual machine monitor; the client's choice if `None`.
    pub vmm: Option<VmmChoice>,
    /// Time that the guest may take to answer, in ms; 120 s if `None`.
    pub boot_timeout_ms: Option<u64>,
    /// When the trees of the image, the kernel and the boot disk are checked before the boot.
    pub verify: Verify,
    /// True if the main command waits until a client has attached to it.
    pub wait_for_attach: bool,
    /// The size of the main command's terminal, if it has one.
    pub window: Option<TerminalSize>,
}

/// When the trees of an image, by which each of its reads is verified, are checked, with the kernel and the
/// boot disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verify {
    /// If a file changed since it was last checked.
    #[default]
    Changed,
    /// At each start.
    Always,
}

/// A file or directory of the host to copy into a new sandbox, with the rules of `docker cp`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyIn {
    /// The path on the host.
    pub source: PathBuf,
    /// The destination in the sandbox, an absolute path.
    pub destination: String,
    /// User id of the copied files.
    #[serde(default)]
    pub uid: u32,
    /// Group id of the copied files.
    #[serde(default)]
    pub gid: u32,
}

/// A directory to make in a new sandbox, with the missing directories above it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewDirectory {
    /// The path in the sandbox, an absolute one.
    pub path: String,
    /// The 12 permission bits; 0755 for a new directory if `None`.
    #[serde(default)]
    pub mode: Option<u16>,
}

/// A line of `/etc/hosts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostName {
    /// The names.
    pub names: Vec<String>,
    /// An IP address, or `host-gateway` for this host's loopback.
    pub address: String,
}

impl SandboxOptions {
    /// Returns the options of a sandbox of this image.
    pub fn new(image: impl Into<String>) -> Self {
        Self {
            image: image.into(),
            ..Self::default()
        }
    }
}
