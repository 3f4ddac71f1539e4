//! The launch spec of a machine: what the process that starts a sandbox tells the VMM process.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use fs_err as fs;
use msb_jail::Strictness;
use msb_network::Settings;
use msb_vmm::Machine;
use serde::{Deserialize, Serialize};

use crate::sandbox::SandboxPaths;
use crate::volumes::VolumeUse;
use crate::{Lifetime, Process, RestartPolicy, StopSignal};

/// The command that runs a VMM process. The sandbox's directory follows the arguments.
#[derive(Debug, Clone)]
pub struct VmmCommand {
    /// The program, usually the running one.
    pub program: PathBuf,
    /// Arguments before the sandbox's directory.
    pub arguments: Vec<OsString>,
}

/// The launch spec: the file `machine.json` in the sandbox's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSpec {
    /// The machine to run.
    pub machine: Machine,
    /// The name of the VMM.
    pub vmm: String,
    /// The directory of all of msb\'s data.
    pub home: PathBuf,
    /// The digest of the image\'s manifest.
    pub image_digest: String,
    /// Time of the start, in seconds since the epoch.
    pub started_s: u64,
    /// The configuration of the supervisor.
    #[serde(alias = "duties")]
    pub supervisor: SupervisorConfig,
    /// The settings of the network process; `None` if the sandbox has no network.
    #[serde(default)]
    pub network: Option<Settings>,
    /// The machine's named volumes.
    #[serde(default)]
    pub volumes: Vec<VolumeUse>,
    /// The strictness of the process's confinement.
    #[serde(default)]
    pub jail: Strictness,
}

/// The configuration of the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupervisorConfig {
    /// The main command; its argv is empty if the sandbox has no main command.
    pub process: Process,
    /// True if the main command waits until a client has attached to it.
    pub attached: bool,
    /// The rows and columns of the main command's terminal, if they are known.
    pub window: Option<(u32, u32)>,
    /// The condition under which the main command is restarted.
    pub restart: RestartPolicy,
    /// The limits after which the sandbox ends by itself.
    pub lifetime: Lifetime,
    /// The signal that asks the main command to end.
    #[serde(default)]
    pub stop_signal: StopSignal,
    /// The client that starts the sandbox and is to own it, if it is.
    #[serde(default)]
    pub owner: Option<AwaitedOwner>,
}

/// A client that connects before the VMM process starts, and owns the sandbox from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedOwner {
    /// Milliseconds that processes have to end themselves once the client is gone.
    pub grace_ms: u64,
}

impl AwaitedOwner {
    /// Returns the time that processes have to end themselves once the client is gone.
    pub const fn grace(self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }
}

impl LaunchSpec {
    /// Reads the launch spec of a sandbox.
    ///
    /// # Errors
    /// If the file does not exist or cannot be parsed.
    pub fn read(files: &SandboxPaths) -> io::Result<Self> {
        serde_json::from_slice(&fs::read(files.launch_spec())?).map_err(Into::into)
    }
}

#[cfg(test)]
impl LaunchSpec {
    /// A launch spec for this machine, without a command.
    pub(crate) fn for_tests(machine: Machine) -> Self {
        Self {
            machine,
            vmm: String::new(),
            home: PathBuf::new(),
            image_digest: String::new(),
            started_s: 0,
            supervisor: SupervisorConfig {
                process: Process::default(),
                attached: false,
                window: None,
                restart: RestartPolicy::default(),
                lifetime: Lifetime::default(),
                stop_signal: StopSignal::default(),
                owner: None,
            },
            network: None,
            volumes: Vec::new(),
            jail: Strictness::default(),
        }
    }
}
