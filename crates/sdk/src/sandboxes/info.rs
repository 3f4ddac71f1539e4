use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use msb_runtime::{Condition, Process, Sandbox as StoredSandbox, State, UnreadableSandbox};
use msb_sandbox_model::GROUPED;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, Exit, Port};

/// The state of a sandbox's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SandboxState {
    /// The sandbox has never had a machine.
    Created,
    /// The machine is running.
    Running,
    /// The machine is running, and the processes in it are frozen.
    Paused,
    /// The machine has ended; the writable disk is kept.
    Stopped,
    /// The sandbox's description cannot be read. The machine may be running.
    Unreadable,
}

impl SandboxState {
    /// Returns true if the sandbox has a machine, whether its processes are paused or not.
    pub const fn is_up(self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }
}

impl From<State> for SandboxState {
    fn from(state: State) -> Self {
        match state {
            State::Created => Self::Created,
            State::Running => Self::Running,
            State::Paused => Self::Paused,
            State::Stopped => Self::Stopped,
        }
    }
}

/// The description and the state of a sandbox, with the keys of `msb inspect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SandboxInfo {
    /// The sandbox's id.
    pub id: String,
    /// The sandbox's name; its id if it was given none.
    pub name: String,
    /// The image's name as it was given.
    pub image: String,
    /// The digest of the image's manifest.
    pub image_digest: String,
    /// The creation time, in seconds since the epoch.
    pub created_s: u64,
    /// The state of the machine.
    pub state: SandboxState,
    /// Seconds since the epoch of the last start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_s: Option<u64>,
    /// The main command's exit; `None` if it has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// Number of virtual processors, from the next start.
    pub cpus: u8,
    /// Guest memory, in MiB, from the next start.
    pub memory_mib: u32,
    /// Size of the writable disk, in bytes, from the next start.
    pub upper_bytes: u64,
    /// True if the sandbox is removed once it has stopped.
    pub remove_when_stopped: bool,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Published ports; a port that the host chooses is 0 while the sandbox does not run.
    pub ports: Vec<Port>,
    /// The process id of the virtual machine's process on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_pid: Option<u32>,
    /// Failures of disks, one line for each disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disk_errors: Vec<String>,
    /// The reason that the sandbox's description cannot be read, or the damage of a record whose copy
    /// is used; `None` if the record is intact. Of a sandbox whose description cannot be read, only the
    /// id, the directory and the space are known for certain; other fields are empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The directory of the sandbox's files.
    pub directory: PathBuf,
    /// The space that the writable disk takes on the host, in bytes.
    pub allocated_bytes: Option<u64>,
    /// Everything else: the main command, the network, the mounts, the limits.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The main command of a sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct MainCommand {
    /// The program and its arguments; empty if the sandbox has no main command.
    pub argv: Vec<String>,
    /// The whole environment, as `NAME=value`.
    pub env: Vec<String>,
    /// The working directory; `/` if empty.
    pub working_directory: String,
    /// The user as `user[:group]`; root if empty.
    pub user: String,
    /// True if the command has a terminal.
    pub terminal: bool,
    /// True if the command's standard input is kept open for attached clients.
    pub stdin: bool,
}

impl From<&Process> for MainCommand {
    fn from(process: &Process) -> Self {
        Self {
            argv: process.argv.clone(),
            env: process.env.clone(),
            working_directory: process.working_directory.clone(),
            user: process.user.clone(),
            terminal: process.terminal,
            stdin: process.stdin,
        }
    }
}

/// The keys of a description that have fields of their own.
const OWN_KEYS: [&str; 10] = [
    "id",
    "name",
    "image",
    "image_digest",
    "created_s",
    "cpus",
    "memory_mib",
    "upper_bytes",
    "remove_when_stopped",
    "labels",
];

impl SandboxInfo {
    /// Returns the main command, with the settings that later commands inherit; an empty one if the
    /// sandbox's description cannot be read.
    ///
    /// # Errors
    /// If the description has a main command of another form.
    pub fn main_command(&self) -> Result<MainCommand, Error> {
        match self.rest.get("process") {
            Some(process) => Ok(MainCommand::deserialize(process)?),
            None => Ok(MainCommand::default()),
        }
    }

    /// Returns the guest's hostname.
    pub fn hostname(&self) -> &str {
        let hostname = self.rest.get("hostname").and_then(Value::as_str);
        hostname.unwrap_or(&self.name)
    }

    /// Reads the state of a sandbox, and its description.
    pub(super) fn read(sandbox: &StoredSandbox, condition: Condition) -> Result<Self, Error> {
        let spec = &sandbox.spec;
        let Value::Object(mut rest) = serde_json::to_value(spec)? else {
            return Err(Error::internal(
                "the sandbox's description is not an object",
            ));
        };
        for key in OWN_KEYS {
            rest.remove(key);
        }
        // It is msb's own, and says nothing that the snapshots do not.
        rest.remove("last_snapshot_number");
        group(&mut rest);
        if condition.state.is_up()
            && let Some(machine) = sandbox.machine_resources()
        {
            rest.insert("machine".to_owned(), serde_json::to_value(machine)?);
        }
        let ports = sandbox.published()?;
        Ok(Self {
            id: spec.id.to_string(),
            name: spec.name.clone(),
            image: spec.image.clone(),
            image_digest: spec.image_digest.clone(),
            created_s: spec.created_s,
            state: condition.state.into(),
            started_s: condition.started_s,
            exit: condition.exit.map(Into::into),
            cpus: spec.cpus,
            memory_mib: spec.memory_mib,
            upper_bytes: spec.upper_bytes,
            remove_when_stopped: spec.remove_when_stopped,
            labels: spec.labels.clone(),
            ports: ports.into_iter().map(Into::into).collect(),
            // A VMM process in another PID namespace has no process id here.
            machine_pid: sandbox.machine_process_id().ok().flatten(),
            disk_errors: Vec::new(),
            problem: sandbox.record_damage.as_ref().map(|damage| {
                format!("its record is damaged ({damage}); the copy of the record is used")
            }),
            directory: sandbox.directory().to_owned(),
            allocated_bytes: sandbox.allocated_bytes().ok(),
            rest,
        })
    }

    /// Returns what is known of a sandbox whose description cannot be read.
    pub(super) fn of_unreadable(sandbox: &UnreadableSandbox) -> Self {
        let directory = sandbox.directory();
        Self {
            id: sandbox.id().to_owned(),
            name: sandbox.name().to_owned(),
            image: String::new(),
            image_digest: sandbox.image_digest().unwrap_or_default().to_owned(),
            created_s: created_s(directory),
            state: SandboxState::Unreadable,
            started_s: None,
            exit: None,
            cpus: 0,
            memory_mib: 0,
            upper_bytes: 0,
            remove_when_stopped: false,
            labels: BTreeMap::new(),
            ports: Vec::new(),
            machine_pid: None,
            disk_errors: Vec::new(),
            problem: Some(sandbox.error().to_string()),
            directory: directory.to_owned(),
            allocated_bytes: sandbox.allocated_bytes().ok(),
            rest: Map::new(),
        }
    }

    /// Asks the virtual machine's process of a running sandbox for failures of disks.
    pub(super) async fn ask_disk_errors(&mut self, sandbox: &StoredSandbox) {
        if self.state.is_up() {
            self.disk_errors = sandbox.disk_errors().await;
        }
    }
}

/// Moves settings of the guest to the objects and the keys that descriptions have for them.
fn group(description: &mut Map<String, Value>) {
    for (setting, object, key) in GROUPED {
        let value = description.remove(setting).unwrap_or_default();
        let object = description
            .entry(object)
            .or_insert_with(|| Map::new().into());
        object[key] = value;
    }
}

/// Returns the time at which a directory was made, or else last changed; 0 if that is unknown.
fn created_s(directory: &Path) -> u64 {
    let metadata = std::fs::metadata(directory).ok();
    let made =
        metadata.and_then(|metadata| metadata.created().or_else(|_| metadata.modified()).ok());
    let since = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_secs())
}
