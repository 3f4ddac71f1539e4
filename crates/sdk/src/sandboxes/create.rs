//! The creation of a sandbox: options checked, image leased, directory written.

use std::io;
use std::sync::Arc;

use image_store::{FindError, ImageLease, Store, StoredImage, VerifyMode};
use msb_runtime::{
    CreateOptions, HostAuthorities, Lock, Mark, Mount, Origin, Room, Sandbox as StoredSandbox,
    check_mounts,
};
use oci_image::Platform;

use super::SandboxOptions;
use super::spec;
use crate::images::{Observer, PullPolicy, observed, pull_into};
use crate::operation::blocking;
use crate::shared::Shared;
use crate::vmm::Backends;
use crate::{Error, Notice, StartOptions, Verify};

/// The number of attempts to lease an image that others remove at the same time.
const LEASE_ATTEMPTS: u32 = 5;

/// A sandbox that was created and is not known to anyone yet. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Created {
    shared: Arc<Shared>,
    sandbox: Option<StoredSandbox>,
    lock: Option<Lock>,
    pub(super) image: StoredImage,
    /// The lease that keeps the image until its machine has its own lease.
    _lease: ImageLease,
    pub(super) warnings: Vec<Notice>,
}

impl Created {
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
            super::discard::remove_ended(&sandbox);
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
        super::discard::discard(sandbox, self.shared.cleanups().begin());
    }
}

/// Creates a sandbox, and pulls its image if necessary. With `verify` the image is compared with its
/// digests first, for a start that follows.
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
    let origin = match &options.from_sandbox {
        Some(from) => Some(origin(shared, from).await?),
        None => None,
    };
    let (image, lease, mut warnings) = match &origin {
        Some(origin) => held_image(&store, origin).await?,
        None => leased_image(shared, &store, &options, observer).await?,
    };
    let name = origin
        .as_ref()
        .map_or(&options.image, |origin| &origin.spec.image);
    warnings.extend(platform_warning(name, &image.record.platform));
    let shared = Arc::clone(shared);
    // The thread goes on if this operation is cancelled: what it has made is removed then.
    let cleanup = shared.cleanups().begin();
    let writing = move || {
        if let Some(verify) = verify {
            store.check_with(&image, verify)?;
            shared.timeline().mark(Mark::ImageChecked)?;
        }
        let mut create_options = create_options(&options, &image, checked, &mut warnings)?;
        let (sandbox, lock) = match origin {
            Some(origin) => {
                create_options.image.clone_from(&origin.spec.image);
                origin.create(shared.home(), &image, create_options)?
            }
            None => StoredSandbox::create(shared.home(), &image, create_options)?,
        };
        let created = Created {
            shared: Arc::clone(&shared),
            sandbox: Some(sandbox),
            lock: Some(lock),
            image,
            _lease: lease,
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
    let network = options
        .network
        .settings(&options.ports, options.publish_all, &[])?;
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

/// Returns the mode in which the image, the kernel and the boot disk are verified.
pub(super) const fn verify_mode(verify: Verify) -> VerifyMode {
    match verify {
        Verify::Changed => VerifyMode::Stamp,
        Verify::Always => VerifyMode::Digest,
    }
}

fn create_options(
    options: &SandboxOptions,
    image: &StoredImage,
    checked: Checked,
    warnings: &mut Vec<Notice>,
) -> Result<CreateOptions, Error> {
    let config = &image.record.config;
    let exposed_ports = config.exposed_ports.as_deref().unwrap_or_default();
    let network = options
        .network
        .settings(&options.ports, options.publish_all, exposed_ports)?;
    let mut patches = spec::patches(options)?;
    let authorities = checked.authorities.as_ref();
    patches.write.extend(authorities.map(HostAuthorities::file));
    let (stopping, warning) = spec::stopping(options, config)?;
    warnings.extend(warning);
    Ok(CreateOptions {
        name: options.name.clone(),
        image: options.image.clone(),
        resources: spec::resources(options)?,
        remove_when_stopped: options.remove_when_stopped,
        // The start of an owned sandbox says so.
        removed_with_owner: false,
        labels: options.labels.clone(),
        process: spec::main_command(options, config, authorities.is_some())?,
        restart: spec::restart(options.restart)?,
        lifetime: spec::lifetime(options),
        network,
        hostname: options.hostname.as_deref().map(str::parse).transpose()?,
        read_only: options.read_only,
        limits: spec::limits(options)?,
        stopping,
        ready_for_snapshots: options.snapshots,
        patches,
        mounts: checked.mounts,
        room: checked.room,
    })
}

/// Returns the disk that a new sandbox begins with, of `SANDBOX[@SNAPSHOT]`.
async fn origin(shared: &Arc<Shared>, from: &str) -> Result<Origin, Error> {
    let (name, snapshot) = match from.split_once('@') {
        Some((name, snapshot)) => (name.to_owned(), Some(snapshot.to_owned())),
        None => (from.to_owned(), None),
    };
    let found = shared.with_home(move |shared| super::find(shared, &name));
    let origin = found.await?.origin(snapshot, true).await;
    origin.map_err(|error| shared.in_home(error.into()))
}

/// Leases the image of a sandbox, which is in the store as long as the sandbox exists.
async fn held_image(
    store: &Store,
    origin: &Origin,
) -> Result<(StoredImage, ImageLease, Vec<Notice>), Error> {
    let (store, digest) = (store.clone(), origin.spec.image_digest.clone());
    let leasing = blocking(move || {
        let image = store.find(&digest)?;
        let lease = store.lease(&image)?;
        Ok::<_, Error>((image, lease, Vec::new()))
    });
    leasing.await
}

/// Finds or pulls the image and leases it until its machine has a lease. If the image is removed
/// between both steps, it is found or pulled again.
async fn leased_image(
    shared: &Arc<Shared>,
    store: &Store,
    options: &Arc<SandboxOptions>,
    observer: Option<&Observer>,
) -> Result<(StoredImage, ImageLease, Vec<Notice>), Error> {
    let mut attempts = 0;
    loop {
        let (image, warnings) = image(shared, store, options, observer).await?;
        attempts += 1;
        let leasing = {
            let (store, image) = (store.clone(), image.clone());
            blocking(move || Ok::<_, Error>(store.lease(&image)))
        };
        match leasing.await? {
            Ok(lease) => return Ok((image, lease, warnings)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempts < LEASE_ATTEMPTS => {}
            Err(error) => return Err(error.into()),
        }
    }
}

async fn image(
    shared: &Arc<Shared>,
    store: &Store,
    options: &Arc<SandboxOptions>,
    observer: Option<&Observer>,
) -> Result<(StoredImage, Vec<Notice>), Error> {
    let name = &options.image;
    let pull = async || pull_into(shared, store, name, &options.source, observed(observer)).await;
    if options.pull == PullPolicy::Always {
        return pull().await;
    }
    let platform: Option<Platform> = options
        .source
        .platform
        .as_deref()
        .map(str::parse)
        .transpose()?;
    let finding = {
        let (store, name) = (store.clone(), name.clone());
        blocking(move || Ok::<_, Error>(store.find_for(&name, platform.as_ref())))
    };
    match finding.await? {
        Err(error) if options.pull == PullPolicy::Missing && error.is_of_absence() => {
            pull().await.map_err(|failure| not_here(failure, &error))
        }
        found => Ok((found?, Vec::new())),
    }
}

/// Adds to a failed pull the reason why the image was pulled.
fn not_here(failure: Error, why: &FindError) -> Error {
    let why = match why {
        FindError::NotFound { name } => format!("image '{name}' is not in the store"),
        why => why.to_string(),
    };
    failure
        .context(why)
        .with_hint("list the images in the store with msb images")
}

/// Returns a warning of an image whose programs this host's processors may not run. The image's
/// platform may be labelled wrongly, so the image is not refused.
fn platform_warning(name: &str, platform: &Platform) -> Option<Notice> {
    let host = Platform::host();
    let is_same = (&platform.os, &platform.architecture) == (&host.os, &host.architecture);
    (!is_same).then(|| {
        let message = format!(
            "image {name} is for {platform}, but this sandbox is {host}, so its programs may not run"
        );
        Notice::new("platform", message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_of_another_architecture_is_warned_of() {
        let host = Platform::host();
        let older = Platform::new("linux", &host.architecture, Some("v3"));
        assert_eq!(platform_warning("app", &host), None);
        assert_eq!(platform_warning("app", &older), None);
        let foreign = Platform::new("linux", "riscv64", None);
        let warning = platform_warning("app", &foreign).expect("another architecture");
        assert!(
            warning
                .message
                .contains("app is for linux/riscv64, but this sandbox is"),
            "{warning:?}"
        );
    }
}
