//! The launch spec of a machine: what the process that starts a sandbox tells the VMM process.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use fs_err as fs;
use image_store::DiskExtent;
use msb_jail::Strictness;
use msb_network::Settings;
use msb_vmm::Machine;
use serde::{Deserialize, Serialize};

use crate::sandbox::SandboxPaths;
use crate::volumes::VolumeUse;
use crate::{GuestSettings, Lifetime, Process, Restart, StopSignal};

/// The command that runs a VMM process. The sandbox's directory follows the arguments.
#[derive(Debug, Clone)]
pub struct VmmCommand {
    /// The program, usually the running one.
    pub program: PathBuf,
    /// Arguments before the sandbox's directory.
    pub arguments: Vec<OsString>,
}

/// The format of launch specs that this build writes, and the only one that it runs. It is raised
/// with each change after which an older or newer VMM process would misunderstand a launch spec.
pub const LAUNCH_FORMAT: u32 = 3;

/// The launch spec: the file `machine.json` in the sandbox's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSpec {
    /// The format, [`LAUNCH_FORMAT`].
    pub format: u32,
    /// The machine to run.
    pub machine: Machine,
    /// The name of the VMM.
    pub vmm: String,
    /// The directory of all of msb\'s data.
    pub home: PathBuf,
    /// The digest of the image\'s manifest; empty if the machine has no image.
    pub image_digest: String,
    /// The extents of the image's disk, which the VMM process opens and serves; empty if the machine has
    /// no such disk.
    pub image_extents: Vec<DiskExtent>,
    /// Time of the start, in seconds since the epoch.
    pub started_s: u64,
    /// The configuration of the supervisor.
    pub supervisor: SupervisorConfig,
    /// The settings of the network process; `None` if the sandbox has no network.
    pub network: Option<Settings>,
    /// The machine's named volumes.
    pub volumes: Vec<VolumeUse>,
    /// The strictness of the process's confinement.
    pub jail: Strictness,
}

/// The configuration of the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupervisorConfig {
    /// The main command; its argv is empty if the sandbox has no main command.
    pub process: Process,
    /// The settings of the guest.
    pub guest: GuestSettings,
    /// True if the main command waits until a client has attached to it.
    pub attached: bool,
    /// The rows and columns of the main command's terminal, if they are known.
    pub window: Option<(u32, u32)>,
    /// The condition under which the main command is restarted.
    pub restart: Restart,
    /// The limits after which the sandbox ends by itself.
    pub lifetime: Lifetime,
    /// The signal that asks the main command to end.
    pub stop_signal: StopSignal,
    /// The client that starts the sandbox and is to own it, if it is.
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

/// The part of a launch spec that every format has.
#[derive(Debug, Deserialize)]
struct Version {
    format: u32,
}

/// A launch spec cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum LaunchSpecError {
    /// The file cannot be read or parsed.
    #[error("cannot read machine.json")]
    Io(#[source] io::Error),
    /// The client that wrote the file is of another build than this program.
    #[error(
        "the launch spec has format {found}, this msb runs format {known}; let the client start \
        the msb that it came with, or install the same version of both"
    )]
    Format {
        /// The format in the file.
        found: u32,
        /// The only format that this build runs.
        known: u32,
    },
}

impl LaunchSpec {
    /// Reads the launch spec of a sandbox to run its machine.
    ///
    /// # Errors
    /// If the file does not exist or cannot be parsed, or its format is another than this build's.
    pub fn read_to_run(files: &SandboxPaths) -> Result<Self, LaunchSpecError> {
        let json = fs::read(files.launch_spec()).map_err(LaunchSpecError::Io)?;
        let parsed = serde_json::from_slice(&json);
        let version: Version = parsed.map_err(|error| LaunchSpecError::Io(error.into()))?;
        if version.format != LAUNCH_FORMAT {
            return Err(LaunchSpecError::Format {
                found: version.format,
                known: LAUNCH_FORMAT,
            });
        }
        serde_json::from_slice(&json).map_err(|error| LaunchSpecError::Io(error.into()))
    }

    /// Reads the launch spec of a sandbox, in any format whose fields are known.
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
            format: LAUNCH_FORMAT,
            machine,
            vmm: String::new(),
            home: PathBuf::new(),
            image_digest: String::new(),
            image_extents: Vec::new(),
            started_s: 0,
            supervisor: SupervisorConfig {
                process: Process::default(),
                guest: GuestSettings::default(),
                attached: false,
                window: None,
                restart: Restart::default(),
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

#[cfg(test)]
mod tests {
    use image_store::Checksum;
    use msb_vmm::{Disk, DiskAccess, DiskFormat};

    use super::*;
    use crate::mounts::Layout;
    use crate::sandbox::{BootFiles, IMAGE_SERIAL, Spec};

    #[test]
    fn the_image_is_served_from_its_extents() {
        let root = tempfile::tempdir().expect("a directory");
        let files = files(root.path(), "");
        let boot_files = BootFiles {
            kernel: "kernel".into(),
            boot_disk: "boot".into(),
            image_vmdk: Some("image.vmdk".into()),
            now_s: 0,
        };
        let image = Disk {
            path: "image.vmdk".into(),
            format: DiskFormat::Served,
            access: DiskAccess::ReadOnly,
            serial: IMAGE_SERIAL.to_owned(),
        };
        let spec = Spec::for_tests("a");
        let machine = spec.machine(&files, &boot_files, image.clone(), Layout::default());
        assert_eq!(machine.disks.first(), Some(&image));
        let extent = DiskExtent {
            file: "a.erofs".into(),
            size_bytes: 8192,
            blake3: Checksum::compute(b"content"),
            offset_bytes: 4096,
            length_bytes: 4096,
        };
        let launch_spec = LaunchSpec {
            image_extents: vec![extent],
            ..LaunchSpec::for_tests(machine)
        };
        let json = serde_json::to_vec(&launch_spec).expect("written");
        fs::write(files.launch_spec(), json).expect("written");
        let read = LaunchSpec::read_to_run(&files).expect("read");
        assert_eq!(read, launch_spec);
    }

    fn files(root: &std::path::Path, json: &str) -> SandboxPaths {
        let files = SandboxPaths {
            directory: root.to_owned(),
        };
        fs::write(files.launch_spec(), json).expect("written");
        files
    }

    #[test]
    fn a_launch_spec_of_another_format_is_not_run() {
        let root = tempfile::tempdir().expect("a directory");
        // The rest of another format may be anything.
        let newer = files(root.path(), r#"{"format": 4000000000, "machine": 7}"#);
        let error = LaunchSpec::read_to_run(&newer).expect_err("refused");
        let message = error.to_string();
        let expected = format!("has format 4000000000, this msb runs format {LAUNCH_FORMAT}");
        assert!(message.contains(&expected), "{message}");
    }

    #[test]
    fn a_launch_spec_that_makes_no_sense_is_not_run() {
        let root = tempfile::tempdir().expect("a directory");
        for json in [
            "",
            "[]",
            "{}",
            r#"{"format": -1}"#,
            &format!(r#"{{"format": {LAUNCH_FORMAT}}}"#),
        ] {
            let error = LaunchSpec::read_to_run(&files(root.path(), json)).expect_err("refused");
            assert!(matches!(error, LaunchSpecError::Io(_)), "{json}: {error}");
        }
    }
}
