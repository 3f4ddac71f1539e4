use std::collections::BTreeMap;
use std::io;

use durable_files::{each_at_once, now_s};
use fs_err as fs;
use fstree::Metadata;
use image_store::StoredImage;
use msb_guest_trust::TrustFiles;
use msb_network::Settings;
use msb_patches::Patches;
use msb_sandbox_model::UndoLimit;
use serde::Serialize;

use super::names::{Names, check_names};
use super::{CreateError, Lock, Sandbox, SandboxId, Spec, Stopping, UpperPool, record, upper};
use crate::mounts::{self, Mount, MountError, Room, Source};
use crate::process::Process;
use crate::volumes::{self, Guard, Volume};
use crate::{FoundRootDisk, GuestSettings, Home, Lifetime, Restart, RootDisk};

/// The resources of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// Number of virtual processors.
    pub cpus: u8,
    /// Guest memory, in MiB.
    pub memory_mib: u32,
    /// Size of the upper disk, in bytes. The disk is sparse: unwritten blocks take no space.
    pub upper_bytes: u64,
}

/// Options for creating a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateOptions {
    /// The sandbox's name; its id if the user gave no name.
    pub name: Option<String>,
    /// The image's name as the user gave it, or the path of the disk image that the root is.
    pub image: String,
    /// The disk image that the root is; `None` if the sandbox has an image.
    pub root_disk: Option<RootDisk>,
    /// True if the root is an ext4 with the image's files, whose content stays in the layers, instead of an
    /// overlay.
    pub native_root: bool,
    /// Processors, memory and disk size.
    pub resources: Resources,
    /// True if the sandbox is removed once it has stopped.
    pub remove_when_stopped: bool,
    /// True if the sandbox is removed once it has stopped and has no owner: for a client that is
    /// going to own it, and may end before it does.
    pub removed_with_owner: bool,
    /// Labels that the user gave.
    pub labels: BTreeMap<String, String>,
    /// The main command.
    pub process: Process,
    /// The conditions under which the main command is restarted.
    pub restart: Restart,
    /// The limits after which the sandbox ends by itself.
    pub lifetime: Lifetime,
    /// Network settings; `None` for loopback alone.
    pub network: Option<Settings>,
    /// The settings of the guest.
    pub guest: GuestSettings,
    /// Signal and timeout of a stop.
    pub stopping: Stopping,
    /// True if a snapshot is taken before each command that is run in the sandbox.
    pub snapshot_commands: bool,
    /// The number of commands whose snapshots are kept.
    pub undo_limit: UndoLimit,
    /// Changes to the image's files before the first boot.
    pub patches: Patches,
    /// The files that its programs' trust depends on.
    pub trust: TrustFiles,
    /// Mounts of host directories, volumes and memory. Missing named volumes are created.
    pub mounts: Vec<Mount>,
    /// The VMM's room for mounts, if the VMM is known.
    pub room: Option<Room>,
}

impl Sandbox {
    /// Creates a sandbox of `image`: its directory, its upper disk, and last its description.
    /// Returns the lock too, which a start takes over.
    ///
    /// # Errors
    /// A name that is taken or invalid, a full disk, an image that cannot be read. Nothing is left
    /// of a sandbox that was not created.
    pub fn create(
        home: &Home,
        image: &StoredImage,
        mut options: CreateOptions,
    ) -> Result<(Self, Lock), CreateError> {
        let patches = std::mem::take(&mut options.patches);
        Self::create_with(home, Some(image), options, |sandbox, staged| {
            if sandbox.spec.native_root {
                return Ok(upper::write_native(home, sandbox, image, &patches, staged)?);
            }
            let Self { files, spec, .. } = sandbox;
            Ok(upper::write(files, spec, image, &patches, staged)?)
        })
    }

    /// Creates a sandbox whose root is a disk image. The image of the options, and the options about the
    /// content of the upper disk, are ignored.
    ///
    /// # Errors
    /// Fails as [`create`](Self::create) does.
    pub fn create_over(
        home: &Home,
        root: FoundRootDisk,
        mut options: CreateOptions,
    ) -> Result<(Self, Lock), CreateError> {
        let FoundRootDisk { disk, base } = root;
        options.image = disk.path.display().to_string();
        options.root_disk = Some(disk);
        options.native_root = false;
        let upper_bytes = options.resources.upper_bytes.max(base.length_bytes());
        options.resources.upper_bytes = upper_bytes;
        Self::create_with(home, None, options, |sandbox, _| {
            Ok(UpperPool::create_over(&sandbox.files, &base)?)
        })
    }

    /// Creates a sandbox like [`create`](Self::create), whose upper disk `write_upper` writes. It gets the
    /// metadata of the staged directories, too. The options about that disk's content are ignored.
    ///
    /// # Errors
    /// Fails as [`create`](Self::create) does, and if `write_upper` fails. Nothing is left then.
    pub fn create_with<E: From<CreateError>>(
        home: &Home,
        image: Option<&StoredImage>,
        mut options: CreateOptions,
        write_upper: impl FnOnce(&Self, &[Metadata]) -> Result<(), E>,
    ) -> Result<(Self, Lock), E> {
        let trust = std::mem::take(&mut options.trust);
        let mut sandbox = Self::planned(home, image, options)?;
        let filled = sandbox.fill(home, &trust, write_upper);
        let lock = filled.and_then(|lock| Ok(sandbox.describe(home).map(|()| lock)?));
        let lock = lock.inspect_err(|_| {
            // The first error is the one that is reported.
            let _ = fs::remove_dir_all(&sandbox.files.directory);
        })?;
        Ok((sandbox, lock))
    }

    /// Checks the options of a new sandbox, and makes its directory.
    fn planned(
        home: &Home,
        image: Option<&StoredImage>,
        options: CreateOptions,
    ) -> Result<Self, CreateError> {
        let io_error = |source| CreateError::Io {
            directory: home.sandboxes(),
            source,
        };
        let id = SandboxId::random().map_err(io_error)?;
        let name = options.name.unwrap_or_else(|| id.to_string());
        check_names(home, [name.as_str()])?;
        let mounts = mounts::arrange(home, options.mounts, options.room.as_ref())?;
        if options.root_disk.is_some() && mounts::staged(&mounts).next().is_some() {
            return Err(MountError::StagedRoot.into());
        }
        msb_agent_protocol::check_length(&options.process.exec(None))?;
        let spec = Spec {
            id,
            name,
            image: options.image,
            image_digest: image
                .map(|image| image.record.manifest_digest.to_string())
                .unwrap_or_default(),
            root_disk: options.root_disk,
            native_root: options.native_root,
            created_s: now_s(),
            cpus: options.resources.cpus,
            memory_mib: options.resources.memory_mib,
            upper_bytes: upper::size_bytes(options.resources.upper_bytes),
            remove_when_stopped: options.remove_when_stopped,
            removed_with_owner: options.removed_with_owner,
            labels: options.labels,
            process: options.process,
            restart: options.restart,
            lifetime: options.lifetime,
            network: options.network,
            guest: options.guest,
            stopping: options.stopping,
            mounts,
            last_snapshot_number: 0,
            snapshot_commands: options.snapshot_commands,
            undo_limit: options.undo_limit,
        };
        let sandbox = Self::at(home, spec);
        durable_files::ensure_directory(&home.sandboxes()).map_err(io_error)?;
        durable_files::create_directory(&sandbox.files.directory).map_err(io_error)?;
        Ok(sandbox)
    }

    fn fill<E: From<CreateError>>(
        &mut self,
        home: &Home,
        trust: &TrustFiles,
        write_upper: impl FnOnce(&Self, &[Metadata]) -> Result<(), E>,
    ) -> Result<Lock, E> {
        let directory = self.files.directory.clone();
        let io_error = |source| CreateError::Io {
            directory: directory.clone(),
            source,
        };
        let lock = Lock::take(&self.files).map_err(io_error)?;
        let lock = lock.ok_or_else(|| io_error(io::ErrorKind::ResourceBusy.into()))?;
        trust.write(&directory).map_err(io_error)?;
        let staged = self.stage(home)?;
        write_upper(self, &staged)?;
        write_anonymous_volumes(self)?;
        Ok(lock)
    }

    /// Publishes the sandbox: checks its name, creates missing volumes, writes its description.
    /// Slow work is done before this call, because other processes that name or remove something
    /// wait for it.
    pub(super) fn describe(&self, home: &Home) -> Result<(), CreateError> {
        Self::describe_all(home, std::slice::from_ref(self))
    }

    /// Publishes sandboxes like [`describe`](Self::describe), several at once.
    ///
    /// # Errors
    /// A name that is taken or invalid, a volume that cannot be created, a description that cannot be written.
    pub fn describe_all(home: &Home, sandboxes: &[Self]) -> Result<(), CreateError> {
        let io_error = |source| CreateError::Io {
            directory: home.sandboxes(),
            source,
        };
        let mounts = sandboxes.iter().flat_map(|sandbox| &sandbox.spec.mounts);
        let mut volumes = mounts.filter_map(Mount::volume).peekable();
        let guard = volumes.peek().map(|_| Guard::to_name(home)).transpose();
        let guard = guard.map_err(io_error)?;
        let names = Names::take(home).map_err(io_error)?;
        names.check_all(sandboxes.iter().map(|sandbox| sandbox.spec.name.as_str()))?;
        if let Some(guard) = &guard {
            volumes
                .try_for_each(|volume| Volume::find_or_create(home, guard, volume).map(|_| ()))?;
        }
        each_at_once(sandboxes, |Self { files, spec, .. }| {
            record::write(files, spec).map_err(|source| CreateError::Io {
                directory: files.directory.clone(),
                source,
            })
        })
    }
}

/// Writes the disks of the volumes that the sandbox alone has.
///
/// # Errors
/// If a disk cannot be written.
pub fn write_anonymous_volumes(sandbox: &Sandbox) -> Result<(), CreateError> {
    for (index, mount) in sandbox.spec.mounts.iter().enumerate() {
        if let Source::Anonymous { size_bytes } = mount.source {
            volumes::write_disk(&sandbox.files.volume(index), size_bytes)?;
        }
    }
    Ok(())
}
