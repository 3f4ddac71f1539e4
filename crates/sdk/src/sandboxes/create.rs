//! The creation of a sandbox: options checked, image leased, directory written.

use std::sync::Arc;

use image_store::{Checked as CheckedImage, ImageLease, StoredImage, VerifyMode};
use msb_client::{Backends, Shared, blocking};
use msb_guest_trust::HostAuthorities;
use msb_images::Observer;
use msb_machine_records::Mark;
use msb_runtime::{CreateOptions, Lock, Mount, Room, Sandbox as StoredSandbox, check_mounts};
use msb_sandbox_secrets::GivenValues;
use oci_image::ImageConfig;

use super::SandboxOptions;
use super::beginning::{Beginning, Files};
use super::start::Ready;
use super::{spec, trust};
use crate::{Error, Notice, StartOptions, Verify};

/// A sandbox that was created and is not known to anyone yet. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Created {
    shared: Arc<Shared>,
    sandbox: Option<StoredSandbox>,
    lock: Option<Lock>,
    /// `None` if the root is a disk image.
    pub(super) image: Option<StoredImage>,
    /// The lease that keeps the image until its machine has its own lease.
    lease: Option<ImageLease>,
    /// Values of secrets that are in no file.
    pub(super) given: GivenValues,
    pub(super) warnings: Vec<Notice>,
}

impl Created {
    /// Returns a fork that was just made, with the right to start it.
    pub(super) fn of_fork(shared: Arc<Shared>, fork: StoredSandbox, warnings: Vec<Notice>) -> Self {
        Self {
            shared,
            sandbox: Some(fork),
            lock: None,
            image: None,
            lease: None,
            given: GivenValues::default(),
            warnings,
        }
    }

    /// Takes the right to start the sandbox, and its checked image. Blocks.
    ///
    /// # Errors
    /// The image is damaged, or the sandbox is running.
    pub(super) fn prepare(&mut self, options: &StartOptions) -> Result<(), Error> {
        let Some(sandbox) = &self.sandbox else {
            return Ok(());
        };
        let ready = Ready::check(&self.shared, sandbox, options)?;
        self.sandbox = Some(ready.sandbox);
        self.lock = Some(ready.lock);
        self.image = ready.image;
        self.lease = ready.lease;
        self.warnings.extend(ready.warnings);
        Ok(())
    }

    /// Returns the sandbox, which stays, and the right to start it.
    pub(super) fn keep(mut self) -> Option<(StoredSandbox, Lock)> {
        self.sandbox.take().zip(self.lock.take())
    }

    /// Keeps the sandbox, whose machine has the right to run it. Returns it.
    pub(super) fn keep_sandbox(&mut self) -> Option<StoredSandbox> {
        self.sandbox.take()
    }

    /// Returns the sandbox.
    pub(super) fn sandbox(&self) -> Option<&StoredSandbox> {
        self.sandbox.as_ref()
    }

    /// Removes the sandbox, and waits until it is gone.
    pub(super) async fn remove(mut self) {
        let Some(sandbox) = self.sandbox.take() else {
            return;
        };
        drop(self.lock.take());
        let cleanup = self.shared.cleanups().begin();
        // The error that is the reason for the removal is the one that is reported.
        let _ = blocking(move || {
            msb_sandbox_handle::remove_ended(&sandbox);
            drop(cleanup);
            Ok::<_, Error>(())
        })
        .await;
    }

    /// Takes the right to start the sandbox, which is removed at the end nevertheless.
    pub(super) fn take_lock(&mut self) -> Option<Lock> {
        self.lock.take()
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        let Some(sandbox) = self.sandbox.take() else {
            return;
        };
        drop(self.lock.take());
        msb_sandbox_handle::discard(sandbox, self.shared.cleanups().begin());
    }
}

/// Creates a sandbox, and pulls its image if necessary. With `verify` the image is checked first, for a
/// start that follows.
pub(super) async fn create(
    shared: &Arc<Shared>,
    options: SandboxOptions,
    observer: Option<&Observer>,
    verify: Option<VerifyMode>,
) -> Result<Created, Error> {
    let options = Arc::new(options);
    // Invalid options are reported before anything is pulled.
    let checked = {
        let options = Arc::clone(&options);
        shared.with_home(move |shared| check(shared, &options))
    };
    let checked = checked.await?;
    let store = shared.with_home(Shared::store).await?;
    let Beginning {
        files,
        leased,
        mut warnings,
    } = Beginning::find(shared, &store, &options, observer).await?;
    let shared = Arc::clone(shared);
    // The thread goes on if this operation is cancelled: what it has made is removed then.
    let cleanup = shared.cleanups().begin();
    let writing = move || {
        let (image, lease) = leased.unzip();
        if let (Some(verify), Some(image)) = (verify, &image) {
            let checked = store.check_with(image, verify)?;
            warnings.extend(tree_notice(&checked));
            shared.timeline().mark(Mark::ImageChecked)?;
        }
        let begins = (&files, image.as_ref());
        let create_options = create_options(&options, begins, checked, &mut warnings)?;
        let (mut sandbox, lock) = files.create(shared.home(), image.as_ref(), create_options)?;
        let staging = sandbox.staging.take();
        let found = staging.iter().flat_map(|found| found.messages());
        warnings.extend(found.map(|(code, message)| Notice::new(code, message)));
        let created = Created {
            shared: Arc::clone(&shared),
            sandbox: Some(sandbox),
            lock: Some(lock),
            image,
            lease,
            given: GivenValues::of(&options.secrets),
            warnings,
        };
        shared.timeline().mark(Mark::SandboxCreated)?;
        // Dropped together, the sandbox begins its removal before this part of it ends.
        Ok::<_, Error>((created, cleanup))
    };
    let (created, _cleanup) = blocking(writing).await?;
    Ok(created)
}

/// The parts of the options that are checked before an image is pulled.
#[derive(Debug)]
struct Checked {
    mounts: Vec<Mount>,
    room: Option<Room>,
    authorities: Option<HostAuthorities>,
}

fn check(shared: &Shared, options: &SandboxOptions) -> Result<Checked, Error> {
    StoredSandbox::sweep(shared.home())?;
    spec::check(options)?;
    let network = spec::network(options, &[])?;
    let mounts: Result<Vec<_>, _> = options
        .mounts
        .iter()
        .map(|mount| mount.resolved())
        .collect();
    let mounts = mounts?;
    let room = if mounts.is_empty() {
        None
    } else {
        let wanted = vmm_choice(shared, &options.start);
        let selected = Backends::new(shared.settings()).select(wanted, network.is_some());
        // The start reports the reason if no VMM can run.
        selected.ok().map(|selected| selected.room)
    };
    check_mounts(shared.home(), mounts.clone(), room.as_ref())?;
    let authorities = options.host_ca.then(HostAuthorities::load).transpose();
    let authorities = authorities.map_err(|error| Error::from(error).context("--host-ca"))?;
    Ok(Checked {
        mounts,
        room,
        authorities,
    })
}

/// Returns the VMM that a start wants.
pub(super) fn vmm_choice(shared: &Shared, options: &StartOptions) -> crate::VmmChoice {
    options.vmm.or(shared.settings().vmm).unwrap_or_default()
}

/// Returns the mode in which the image, the kernel and the boot disk are checked.
pub(super) const fn verify_mode(verify: Verify) -> VerifyMode {
    match verify {
        Verify::Changed => VerifyMode::Stamp,
        Verify::Always => VerifyMode::Digest,
    }
}

/// Returns the notice that trees were made, without which no read can be verified.
pub(super) fn tree_notice(checked: &CheckedImage) -> Option<Notice> {
    let message = match checked.treeless.len() {
        0 => return None,
        1 => {
            "an older msb stored one file of the image without a tree; the tree was made".to_owned()
        }
        files => format!(
            "an older msb stored {files} files of the image without trees; the trees were made"
        ),
    };
    Some(Notice::new("image-tree", message))
}

fn create_options(
    options: &SandboxOptions,
    (files, image): (&Files, Option<&StoredImage>),
    checked: Checked,
    warnings: &mut Vec<Notice>,
) -> Result<CreateOptions, Error> {
    let none = ImageConfig::default();
    let config = image.map_or(&none, |image| &image.record.config);
    let exposed_ports = config.exposed_ports.as_deref().unwrap_or_default();
    let mut network = spec::network(options, exposed_ports)?;
    if let Some(network) = &mut network {
        msb_sandbox_secrets::without_values(&mut network.secrets)?;
    }
    warnings.extend(spec::secret_notices(options));
    let host = checked.authorities.as_ref();
    let trusted = trust::prepared(options, files.root(image), (config, host), network.as_mut())?;
    let mut patches = spec::patches(options)?;
    patches.write.extend(trusted.written);
    let (stopping, warning) = spec::stopping(options, config)?;
    warnings.extend(warning);
    let mut process = spec::main_command(options, config, &trusted.environment)?;
    msb_sandbox_files::set_staged_environment(&mut process, &checked.mounts);
    Ok(CreateOptions {
        name: options.name.clone(),
        image: options.image.clone(),
        root_disk: None,
        native_root: options.native_root,
        resources: spec::resources(options)?,
        remove_when_stopped: options.remove_when_stopped,
        // The start of an owned sandbox says so.
        removed_with_owner: false,
        labels: options.labels.clone(),
        process,
        restart: options.restart,
        lifetime: spec::lifetime(options),
        network,
        guest: options.guest.clone(),
        stopping,
        snapshot_commands: options.snapshot_commands,
        undo_limit: spec::undo_limit(options)?,
        patches,
        trust: trusted.trust,
        mounts: checked.mounts,
        room: checked.room,
    })
}
