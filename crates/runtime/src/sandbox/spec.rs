use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fs_err as fs;
use msb_network::Settings;
use msb_vmm::{Disk, DiskAccess, DiskFormat, Machine, NetworkDevice};
use serde::{Deserialize, Serialize};

use super::{Limits, SandboxId};
use crate::Home;
use crate::hostname::Hostname;
use crate::keeper::{Lifetime, RestartPolicy};
use crate::mounts::{self, Mount};
use crate::process::Process;
use crate::stop_signal::StopSignal;
use crate::volumes::Use;

/// The serial of the image disk, `/dev/vda`.
const IMAGE_SERIAL: &str = "msb-image";
/// The serial of the upper disk, `/dev/vdb`.
const UPPER_SERIAL: &str = "msb-upper";
/// The serial of the boot disk, `/dev/vdc`, which is the kernel's root.
const BOOT_SERIAL: &str = "msb-boot";

/// A sandbox as its directory describes it, in `sandbox.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Which sandbox.
    pub id: SandboxId,
    /// What the user calls it; the id where the user gave none.
    pub name: String,
    /// The image's name as the user gave it.
    pub image: String,
    /// The digest of the image's manifest.
    pub image_digest: String,
    /// Seconds since the epoch when it was created.
    pub created_s: u64,
    /// Virtual processors.
    pub cpus: u8,
    /// Guest memory, in MiB.
    pub memory_mib: u32,
    /// Size of the upper disk, in bytes.
    pub upper_bytes: u64,
    /// Remove it once it has stopped.
    pub remove_when_stopped: bool,
    /// What the user marks it with.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Its first command; later ones start from what it says.
    pub process: Process,
    /// Whether the first command is started again.
    #[serde(default)]
    pub restart: RestartPolicy,
    /// When it ends by itself.
    #[serde(default)]
    pub lifetime: Lifetime,
    /// Its network; without one it has its loopback alone.
    #[serde(default)]
    pub network: Option<Settings>,
    /// What its guest calls itself; its name where the user gave nothing else.
    #[serde(default)]
    pub hostname: Option<Hostname>,
    /// Whether nothing of its root can be written but what is mounted there.
    #[serde(default)]
    pub read_only: bool,
    /// What its guest may take of its own.
    #[serde(default)]
    pub limits: Limits,
    /// How it is stopped.
    #[serde(default)]
    pub stopping: Stopping,
    /// What it sees of host directories, volumes and memory, in the order in which they are mounted.
    #[serde(default)]
    pub mounts: Vec<Mount>,
}

/// How a sandbox is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stopping {
    /// What its first command is sent, before everything else gets SIGTERM.
    pub signal: StopSignal,
    /// How long all of them together may take before they are killed, in seconds.
    pub timeout_s: u64,
}

impl Default for Stopping {
    /// As docker has it.
    fn default() -> Self {
        Self {
            signal: StopSignal::default(),
            timeout_s: 10,
        }
    }
}

/// The files of one sandbox.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) directory: PathBuf,
}

impl Files {
    pub(crate) fn spec(&self) -> PathBuf {
        self.directory.join("sandbox.json")
    }

    pub(crate) fn upper(&self) -> PathBuf {
        self.directory.join("upper.ext4")
    }

    /// What the machine's process is to do.
    pub(crate) fn errand(&self) -> PathBuf {
        self.directory.join("machine.json")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.directory.join("lock")
    }

    /// The disk of the anonymous volume that is mount number `index`.
    pub(crate) fn volume(&self, index: usize) -> PathBuf {
        self.directory.join(format!("volume-{index}.ext4"))
    }

    /// Where the process of share number `index` is called, for an instant.
    pub(crate) fn share_socket(&self, index: usize) -> PathBuf {
        self.directory.join(format!("share-{index}.sock"))
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.join("agent.sock")
    }

    /// The process id of the machine's process.
    pub(crate) fn pid(&self) -> PathBuf {
        self.directory.join("vmm.pid")
    }

    /// Where the machine's process makes files. It may in no other directory, and nobody relies on
    /// what stands in this one.
    pub(crate) fn written(&self) -> PathBuf {
        self.directory.join("written")
    }

    /// What its first command printed.
    pub(crate) fn output_log(&self) -> PathBuf {
        self.written().join("output.log")
    }

    /// How its first command ended.
    pub(crate) fn exit(&self) -> PathBuf {
        self.written().join("exit.json")
    }

    /// The directory of its jobs.
    pub(crate) fn jobs(&self) -> PathBuf {
        self.written().join("jobs")
    }

    /// The ports that its network has published, with those that the host has chosen.
    pub(crate) fn ports(&self) -> PathBuf {
        self.directory.join("ports.json")
    }

    /// What the guest kernel prints.
    pub(crate) fn console_log(&self) -> PathBuf {
        self.directory.join("console.log")
    }

    /// What the VMM's process prints.
    pub(crate) fn vmm_log(&self) -> PathBuf {
        self.directory.join("vmm.log")
    }
}

/// The files of one job.
#[derive(Debug, Clone)]
pub(crate) struct JobFiles {
    pub(crate) directory: PathBuf,
}

impl JobFiles {
    /// Those of job `id` below the directory of all jobs.
    pub(crate) fn of(jobs: &Path, id: u64) -> Self {
        Self {
            directory: jobs.join(id.to_string()),
        }
    }

    pub(crate) fn job(&self) -> PathBuf {
        self.directory.join("job.json")
    }

    pub(crate) fn output_log(&self) -> PathBuf {
        self.directory.join("output.log")
    }

    pub(crate) fn exit(&self) -> PathBuf {
        self.directory.join("exit.json")
    }
}

/// What a machine is made of besides its sandbox's own files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parts {
    pub(crate) kernel: PathBuf,
    pub(crate) boot_disk: PathBuf,
    pub(crate) image_vmdk: PathBuf,
    /// Seconds since the epoch: the guest has no clock of its own to trust.
    pub(crate) now_s: u64,
}

impl Spec {
    pub(crate) fn read(directory: &Path) -> std::io::Result<Self> {
        let path = Files {
            directory: directory.to_owned(),
        }
        .spec();
        serde_json::from_slice(&fs::read(path)?).map_err(Into::into)
    }

    /// The machine that boots this sandbox.
    pub(crate) fn machine(&self, home: &Home, files: &Files, parts: &Parts) -> Machine {
        let disk = |path: &Path, format, access, serial: &str| Disk {
            path: path.to_owned(),
            format,
            access,
            serial: serial.to_owned(),
        };
        let own = [
            disk(
                &parts.image_vmdk,
                DiskFormat::Vmdk,
                DiskAccess::ReadOnly,
                IMAGE_SERIAL,
            ),
            disk(
                &files.upper(),
                DiskFormat::Raw,
                DiskAccess::ReadWrite,
                UPPER_SERIAL,
            ),
            disk(
                &parts.boot_disk,
                DiskFormat::Raw,
                DiskAccess::ReadOnly,
                BOOT_SERIAL,
            ),
        ];
        let mounts = || self.mounts.iter().enumerate();
        let root_disk = own.len() - 1;
        let volumes = mounts().filter_map(|(index, mount)| mounts::disk(home, files, index, mount));
        let shares = mounts().filter_map(|(index, mount)| mounts::share(index, mount));
        Machine {
            kernel: parts.kernel.clone(),
            cpus: self.cpus,
            memory_mib: self.memory_mib,
            root_disk,
            disks: own.into_iter().chain(volumes).collect(),
            shares: shares.collect(),
            kernel_arguments: self.kernel_arguments(parts),
            console_log: files.console_log(),
            network: self.network.as_ref().map(|_| NetworkDevice {
                mac: msb_network::GUEST_MAC,
            }),
        }
    }

    /// The named volumes that its machine has.
    pub(crate) fn volumes(&self) -> Vec<Use> {
        let named = self.mounts.iter().filter_map(|mount| {
            Some(Use {
                volume: mount.volume()?.clone(),
                read_only: mount.read_only,
            })
        });
        named.collect()
    }

    /// What the guest's agent is told.
    fn kernel_arguments(&self, parts: &Parts) -> Vec<String> {
        let mut words = vec![format!("msb_epoch={}", parts.now_s)];
        words.extend(self.hostname_words());
        if self.read_only {
            words.push("msb_read_only=1".to_owned());
        }
        if self.network.is_some() {
            words.push(network_word());
        }
        if self.remove_when_stopped {
            words.push("msb_thrown_away=1".to_owned());
        }
        words.extend(self.limits.kernel_words());
        // One that is too long was refused when the sandbox was created.
        words.extend(mounts::word(&self.mounts).ok().flatten());
        words
    }

    /// A name that the user gave stands in the guest's files in any case.
    fn hostname_words(&self) -> Vec<String> {
        match &self.hostname {
            None => vec![format!("msb_hostname={}", self.name)],
            Some(name) => vec![
                format!("msb_hostname={name}"),
                "msb_hostname_given=1".to_owned(),
            ],
        }
    }
}

#[cfg(test)]
impl Spec {
    /// That of a sandbox of no image, with an id of its own.
    pub(crate) fn of_tests(name: &str) -> Self {
        Self {
            id: SandboxId::random().expect("randomness"),
            name: name.to_owned(),
            image: String::new(),
            image_digest: String::new(),
            created_s: 0,
            cpus: 1,
            memory_mib: 64,
            upper_bytes: 0,
            remove_when_stopped: false,
            labels: BTreeMap::default(),
            process: Process::default(),
            restart: RestartPolicy::default(),
            lifetime: Lifetime::default(),
            network: None,
            hostname: None,
            read_only: false,
            limits: Limits::default(),
            stopping: Stopping::default(),
            mounts: Vec::new(),
        }
    }
}

/// The guest's address and prefix, its gateway, which also answers questions for names, and how
/// much a packet may hold.
fn network_word() -> String {
    format!(
        "msb_net={}/{},{},{}",
        msb_network::GUEST_ADDRESS,
        msb_network::PREFIX_BITS,
        msb_network::GATEWAY_ADDRESS,
        msb_network::MTU_BYTES
    )
}
