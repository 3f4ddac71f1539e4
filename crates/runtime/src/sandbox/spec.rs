use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use diagnosis::io_error;
use disk_image::Filesystem;
use guest_kernel::RootFilesystems;
use msb_network::Settings;
use msb_sandbox_model::{GuestSettings, Lifetime, PidNamespace, Restart, UndoLimit, kernel_word};
use msb_vmm::{Disk, DiskAccess, DiskFormat, Machine, NetworkDevice};
use serde::{Deserialize, Serialize};

use super::record::{self, Reading};
use super::{SandboxId, SandboxPaths};
use crate::RootDisk;
use crate::StopSignal;
use crate::mounts::{Layout, Mount, Target};
use crate::process::Process;
use crate::volumes::VolumeUse;

/// The directory that is memory if its size is given.
const TMP: &str = "/tmp";
/// The serial of the image disk, `/dev/vda`, which a sandbox without an overlay lacks.
pub const IMAGE_SERIAL: &str = "msb-image";
/// The serial of the upper disk, `/dev/vdb`, or `/dev/vda` without an image disk.
pub const UPPER_SERIAL: &str = "msb-upper";
/// The serial of the boot disk behind it, which is the kernel's root.
const BOOT_SERIAL: &str = "msb-boot";
/// Maximum length of a holder's working directory on the kernel's command line.
const WORKING_DIRECTORY_LIMIT_BYTES: usize = 256;

/// A sandbox's description, as `sandbox.json` in its directory holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The sandbox's id.
    pub id: SandboxId,
    /// The sandbox's name; its id if the user gave no name.
    pub name: String,
    /// The image's name as the user gave it, or the path of the disk image that the root is.
    pub image: String,
    /// The digest of the image's manifest; empty if the root is a disk image.
    pub image_digest: String,
    /// The disk image that the root is; `None` if the sandbox has an image.
    #[serde(default)]
    pub root_disk: Option<RootDisk>,
    /// True if the root is an ext4 with the image's files, whose content stays in the layers, instead of an
    /// overlay.
    #[serde(default)]
    pub native_root: bool,
    /// The creation time, in seconds since the epoch.
    pub created_s: u64,
    /// Number of virtual processors.
    pub cpus: u8,
    /// Guest memory, in MiB.
    pub memory_mib: u32,
    /// Size of the upper disk, in bytes.
    pub upper_bytes: u64,
    /// True if the sandbox is removed once it has stopped.
    pub remove_when_stopped: bool,
    /// True if the sandbox is removed once it has stopped and has no owner. An owner sets it, and
    /// clears it when it gives the sandbox up.
    #[serde(default)]
    pub removed_with_owner: bool,
    /// Labels that the user gave.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The main command; later commands inherit its settings.
    pub process: Process,
    /// The conditions under which the main command is restarted.
    #[serde(default)]
    pub restart: Restart,
    /// The limits after which the sandbox ends by itself.
    #[serde(default)]
    pub lifetime: Lifetime,
    /// Network settings; `None` for loopback alone.
    #[serde(default)]
    pub network: Option<Settings>,
    /// The settings of the guest.
    #[serde(flatten)]
    pub guest: GuestSettings,
    /// Signal and timeout of a stop.
    #[serde(default)]
    pub stopping: Stopping,
    /// Mounts of host directories, volumes and memory, in the order in which they are made.
    #[serde(default)]
    pub mounts: Vec<Mount>,
    /// The highest number that a snapshot of the sandbox was given, also if that was removed; 0 if it
    /// has had none.
    #[serde(default)]
    pub last_snapshot_number: u64,
    /// True if a snapshot is taken before each command that is run in the sandbox.
    #[serde(default)]
    pub snapshot_commands: bool,
    /// The number of commands whose snapshots are kept, the newest ones.
    #[serde(default)]
    pub undo_limit: UndoLimit,
}

/// Signal and timeout of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stopping {
    /// The signal for the main command, before all other processes get SIGTERM.
    pub signal: StopSignal,
    /// Seconds that all processes together have before they are killed.
    pub timeout_s: u64,
}

impl Default for Stopping {
    /// Returns SIGTERM and 10 s, the defaults of docker.
    fn default() -> Self {
        Self {
            signal: StopSignal::default(),
            timeout_s: 10,
        }
    }
}

/// The parts of a machine that are not the sandbox's own files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BootFiles {
    pub(crate) kernel: PathBuf,
    pub(crate) boot_disk: PathBuf,
    /// The descriptor of the image's disk, which names it; `None` if the upper disk is the root.
    pub(crate) image_vmdk: Option<PathBuf>,
    /// Seconds since the epoch. The guest has no clock of its own that it can trust.
    pub(crate) now_s: u64,
}

impl Spec {
    /// Reads the description in the directory of a sandbox, from its copy if the record is damaged.
    ///
    /// # Errors
    /// [`NotFound`](io::ErrorKind::NotFound) if there is no sandbox, or
    /// [`InvalidData`](io::ErrorKind::InvalidData) with a [`RecordError`](super::RecordError).
    pub fn read(directory: &Path) -> io::Result<Self> {
        let directory = directory.to_owned();
        match record::read(&SandboxPaths { directory }) {
            Reading::Missing => Err(io::ErrorKind::NotFound.into()),
            Reading::Read(record) => Ok(record.spec),
            Reading::Unusable(error, _) => Err(io_error(io::ErrorKind::InvalidData, error)),
        }
    }

    /// Returns true if the sandbox is not kept once it has stopped and has no owner.
    pub(super) const fn is_removed_when_stopped(&self) -> bool {
        self.remove_when_stopped || self.removed_with_owner
    }

    /// Returns the machine that boots this sandbox from `upper`, with its mounts as `layout` arranges
    /// them.
    pub(crate) fn machine(
        &self,
        files: &SandboxPaths,
        boot_files: &BootFiles,
        upper: Disk,
        layout: Layout,
    ) -> Machine {
        let read_only = |path: &Path, format, serial: &str| Disk {
            path: path.to_owned(),
            format,
            access: DiskAccess::ReadOnly,
            serial: serial.to_owned(),
        };
        let image = boot_files.image_vmdk.as_deref();
        let image = image.map(|path| read_only(path, DiskFormat::Served, IMAGE_SERIAL));
        let boot = read_only(&boot_files.boot_disk, DiskFormat::Raw, BOOT_SERIAL);
        let own: Vec<Disk> = image.into_iter().chain([upper, boot]).collect();
        let root_disk = own.len() - 1;
        Machine {
            kernel: boot_files.kernel.clone(),
            cpus: self.cpus,
            memory_mib: self.memory_mib,
            root_disk,
            disks: own.into_iter().chain(layout.disks).collect(),
            shares: layout.shares,
            kernel_arguments: self.kernel_arguments(boot_files, layout.word),
            console_log: files.console_log(),
            network: self.network.as_ref().map(|_| NetworkDevice {
                mac: msb_network::GUEST_MAC,
            }),
        }
    }

    /// Returns the filesystems that the root needs of a kernel.
    pub(crate) fn root_filesystems(&self) -> RootFilesystems {
        match self.root_disk.as_ref().map(|disk| disk.filesystem) {
            Some(Filesystem::Xfs | Filesystem::Btrfs) => RootFilesystems::More,
            _ => RootFilesystems::Usual,
        }
    }

    /// Returns the paths at which a running sandbox shows something other than its own disk: its mounts, and
    /// `/tmp` if that is memory.
    pub fn covered_targets(&self) -> Vec<Target> {
        let mut targets: Vec<_> = self
            .mounts
            .iter()
            .map(|mount| mount.target.clone())
            .collect();
        if self.guest.tmp.is_some() {
            targets.extend(TMP.parse());
        }
        targets
    }

    /// Returns the named volumes that the machine uses.
    pub(crate) fn volumes(&self) -> Vec<VolumeUse> {
        let named = self.mounts.iter().filter_map(|mount| {
            Some(VolumeUse {
                volume: mount.volume()?.clone(),
                read_only: mount.read_only,
            })
        });
        named.collect()
    }

    /// Returns the kernel arguments that the guest's agent reads.
    fn kernel_arguments(&self, boot_files: &BootFiles, mounts: Option<String>) -> Vec<String> {
        let mut words = vec![format!("msb_epoch={}", boot_files.now_s)];
        words.push(format!("msb_name={}", self.name));
        words.extend(
            self.guest
                .kernel_word()
                .map(|word| format!("msb_guest={word}")),
        );
        if let Some(disk) = &self.root_disk {
            words.push(format!("msb_root_filesystem={}", disk.filesystem));
        }
        if self.native_root {
            words.push("msb_native_root=1".to_owned());
        }
        if self.needs_holder() {
            words.push(self.holder_word());
        }
        if self.network.is_some() {
            words.push(network_word());
        }
        if self.remove_when_stopped {
            words.push("msb_thrown_away=1".to_owned());
        }
        words.extend(mounts);
        words
    }

    /// Returns true if the sandbox has its own namespaces and no main command that could make them.
    fn needs_holder(&self) -> bool {
        self.process.argv.is_empty() && self.guest.pid == PidNamespace::Private
    }

    /// Returns the argument that asks for a holder, with the directory that it makes: there is no main
    /// command to make it. A very long one is left to the first command.
    fn holder_word(&self) -> String {
        let directory = kernel_word::encode(&self.process.working_directory);
        let is_short = directory.len() <= WORKING_DIRECTORY_LIMIT_BYTES;
        format!("msb_holder={}", if is_short { &directory } else { "" })
    }
}

#[cfg(test)]
impl Spec {
    /// Returns the description of a sandbox without an image, with a new id.
    pub(crate) fn for_tests(name: &str) -> Self {
        Self {
            id: SandboxId::random().expect("randomness"),
            name: name.to_owned(),
            image: String::new(),
            image_digest: String::new(),
            root_disk: None,
            native_root: false,
            created_s: 0,
            cpus: 1,
            memory_mib: 64,
            upper_bytes: 0,
            remove_when_stopped: false,
            removed_with_owner: false,
            labels: BTreeMap::default(),
            process: Process::default(),
            restart: Restart::default(),
            lifetime: Lifetime::default(),
            network: None,
            guest: GuestSettings::default(),
            stopping: Stopping::default(),
            mounts: Vec::new(),
            last_snapshot_number: 0,
            snapshot_commands: false,
            undo_limit: UndoLimit::default(),
        }
    }
}

/// Returns the guest's address and prefix length, the gateway's address, and the MTU in bytes.
/// The gateway is also the DNS server.
fn network_word() -> String {
    format!(
        "msb_net={}/{},{},{}",
        msb_network::GUEST_ADDRESS,
        msb_network::PREFIX_BITS,
        msb_network::GATEWAY_ADDRESS,
        msb_network::MTU_BYTES
    )
}

#[cfg(test)]
mod tests {
    use disk_image::Format;

    use super::*;

    #[test]
    fn a_machine_of_a_disk_image_has_no_image_disk_and_mounts_its_filesystem() {
        let disk = RootDisk {
            path: "/disk.qcow2".into(),
            format: Format::Qcow2,
            filesystem: Filesystem::Ext4,
            partition: Some(1),
        };
        let spec = Spec {
            root_disk: Some(disk),
            ..Spec::for_tests("a")
        };
        let files = SandboxPaths {
            directory: "/sandbox".into(),
        };
        let boot_files = BootFiles {
            kernel: "kernel".into(),
            boot_disk: "boot".into(),
            image_vmdk: None,
            now_s: 0,
        };
        let upper = Disk {
            path: files.generations(),
            format: DiskFormat::Served,
            access: DiskAccess::ReadWrite,
            serial: UPPER_SERIAL.to_owned(),
        };
        let machine = spec.machine(&files, &boot_files, upper, Layout::default());
        let serials = machine.disks.iter().map(|disk| disk.serial.as_str());
        assert_eq!(serials.collect::<Vec<_>>(), [UPPER_SERIAL, BOOT_SERIAL]);
        assert_eq!(machine.root_disk, 1);
        let word = "msb_root_filesystem=ext4".to_owned();
        assert!(machine.kernel_arguments.contains(&word), "{machine:?}");
        let json = serde_json::to_string(&spec).expect("written");
        assert_eq!(serde_json::from_str::<Spec>(&json).expect("read"), spec);
    }

    #[test]
    fn a_holder_is_told_of_its_working_directory() {
        let mut spec = Spec::for_tests("a");
        assert!(spec.needs_holder());
        for (directory, word) in [
            ("/work dir", "msb_holder=/work%20dir"),
            ("", "msb_holder="),
            (&format!("/{}", "x".repeat(300)), "msb_holder="),
        ] {
            directory.clone_into(&mut spec.process.working_directory);
            assert_eq!(spec.holder_word(), word);
        }
        spec.guest.pid = PidNamespace::Host;
        assert!(!spec.needs_holder());
    }

    #[test]
    fn the_agent_reads_all_settings_from_one_word() {
        let mut spec = Spec::for_tests("web");
        let words = |spec: &Spec| {
            let files = BootFiles {
                kernel: "kernel".into(),
                boot_disk: "boot".into(),
                image_vmdk: None,
                now_s: 7,
            };
            spec.kernel_arguments(&files, None)
        };
        let usual = ["msb_epoch=7", "msb_name=web", "msb_holder="];
        assert_eq!(words(&spec), usual);
        spec.native_root = true;
        assert!(words(&spec).contains(&"msb_native_root=1".to_owned()));
        spec.guest.read_only = true;
        assert!(words(&spec).contains(&"msb_guest={'read_only':true}".to_owned()));
    }
}
