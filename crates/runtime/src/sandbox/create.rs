use std::collections::BTreeMap;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use fs_err as fs;
use image_store::StoredImage;
use msb_network::Settings;
use serde::Serialize;

use super::names::{Names, check_name};
use super::{CreateError, Files, Limits, Lock, Sandbox, SandboxId, Spec, Stopping, upper};
use crate::keeper::{Lifetime, RestartPolicy};
use crate::mounts::{self, Mount, Source};
use crate::process::Process;
use crate::volumes::{self, Guard, Volume};
use crate::{Home, Hostname, Patches, durable};

/// What a sandbox may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// Virtual processors.
    pub cpus: u8,
    /// Guest memory, in MiB.
    pub memory_mib: u32,
    /// Size of the upper disk, in bytes. It is sparse: what is not written costs nothing.
    pub upper_bytes: u64,
}

/// How to create a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateOptions {
    /// What the user calls it; without one, the id is the name.
    pub name: Option<String>,
    /// The image's name as the user gave it.
    pub image: String,
    /// What it may use.
    pub resources: Resources,
    /// Remove it once it has stopped.
    pub remove_when_stopped: bool,
    /// What the user marks it with.
    pub labels: BTreeMap<String, String>,
    /// Its first command.
    pub process: Process,
    /// Whether the first command is started again.
    pub restart: RestartPolicy,
    /// When it ends by itself.
    pub lifetime: Lifetime,
    /// Its network, if it is to have one.
    pub network: Option<Settings>,
    /// What its guest calls itself, instead of its name.
    pub hostname: Option<Hostname>,
    /// Whether nothing of its root can be written but what is mounted there.
    pub read_only: bool,
    /// What its guest may take of its own.
    pub limits: Limits,
    /// How it is stopped.
    pub stopping: Stopping,
    /// What its files are at first, where they are not its image's.
    pub patches: Patches,
    /// What it sees of host directories, volumes and memory. Named volumes that are missing are made.
    pub mounts: Vec<Mount>,
}

impl Sandbox {
    /// Creates a sandbox of `image`: its directory, its upper disk, its description last.
    /// The lock goes to whoever starts it.
    ///
    /// # Errors
    /// A name that is taken or not one, a full disk, an image that cannot be read. Nothing is left
    /// of a sandbox that was not created.
    pub fn create(
        home: &Home,
        image: &StoredImage,
        options: CreateOptions,
    ) -> Result<(Self, Lock), CreateError> {
        let io_error = |source| CreateError::Io {
            directory: home.sandboxes(),
            source,
        };
        let id = SandboxId::random().map_err(io_error)?;
        let name = options.name.unwrap_or_else(|| id.to_string());
        check_name(home, &name)?;
        let mounts = mounts::arrange(options.mounts)?;
        msb_agent_protocol::check_length(&options.process.exec(None))?;
        let spec = Spec {
            id,
            name,
            image: options.image,
            image_digest: image.record.manifest_digest.to_string(),
            created_s: now_s(),
            cpus: options.resources.cpus,
            memory_mib: options.resources.memory_mib,
            upper_bytes: options.resources.upper_bytes,
            remove_when_stopped: options.remove_when_stopped,
            labels: options.labels,
            process: options.process,
            restart: options.restart,
            lifetime: options.lifetime,
            network: options.network,
            hostname: options.hostname,
            read_only: options.read_only,
            limits: options.limits,
            stopping: options.stopping,
            mounts,
        };
        let sandbox = Self::at(home, spec);
        fs::create_dir_all(home.sandboxes()).map_err(io_error)?;
        fs::create_dir(&sandbox.files.directory).map_err(io_error)?;
        let filled = sandbox.fill(image, &options.patches);
        let lock = filled.and_then(|lock| sandbox.describe(home).map(|()| lock));
        let lock = lock.inspect_err(|_| {
            // The first error is the one to report.
            let _ = fs::remove_dir_all(&sandbox.files.directory);
        })?;
        Ok((sandbox, lock))
    }

    fn fill(&self, image: &StoredImage, patches: &Patches) -> Result<Lock, CreateError> {
        let io_error = |source| CreateError::Io {
            directory: self.files.directory.clone(),
            source,
        };
        let lock = Lock::take(&self.files).map_err(io_error)?;
        let lock = lock.ok_or_else(|| io_error(io::ErrorKind::ResourceBusy.into()))?;
        upper::write(&self.files, &self.spec, image, patches)?;
        for (index, mount) in self.spec.mounts.iter().enumerate() {
            if let Source::Anonymous { size_bytes } = mount.source {
                volumes::write_disk(&self.files.volume(index), size_bytes)?;
            }
        }
        Ok(lock)
    }

    /// Makes it a sandbox: nobody else has its name, and the volumes that it names are there. What
    /// may take long is done by now: whoever wants to name or remove something waits for this.
    pub(super) fn describe(&self, home: &Home) -> Result<(), CreateError> {
        let io_error = |source| CreateError::Io {
            directory: self.files.directory.clone(),
            source,
        };
        let mut volumes = self.spec.mounts.iter().filter_map(Mount::volume).peekable();
        let guard = volumes.peek().map(|_| Guard::to_name(home)).transpose();
        let guard = guard.map_err(io_error)?;
        let names = Names::take(home).map_err(io_error)?;
        names.check(&self.spec.name)?;
        if let Some(guard) = &guard {
            volumes
                .try_for_each(|volume| Volume::find_or_create(home, guard, volume).map(|_| ()))?;
        }
        write_spec(&self.files, &self.spec).map_err(io_error)
    }
}

pub(super) fn write_spec(files: &Files, spec: &Spec) -> io::Result<()> {
    let mut json = serde_json::to_vec_pretty(spec)?;
    json.push(b'\n');
    durable::publish_bytes(&files.spec(), &json)
}

/// Seconds since the epoch, 0 on a host whose clock stands before it.
pub(crate) fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
