//! The files that a new sandbox begins with: those of an image, of a disk image or of another sandbox.

use std::io;
use std::sync::Arc;

use image_store::{FindError, ImageLease, Store, StoredImage};
use msb_client::{Shared, blocking};
use msb_guest_trust::{Root, Source};
use msb_images::{Observer, observed, pull_into};
use msb_runtime::{
    CreateError, CreateOptions, FoundRootDisk, Home, Lock, RootDiskChoice, Sandbox as StoredSandbox,
};
use msb_sandbox_snapshots::{Origin, SandboxSnapshots};
use oci_image::Platform;

use super::{RootDisk, SandboxOptions, missing_image};
use crate::{Error, Notice, PullPolicy};

/// The number of attempts to lease an image that others remove at the same time.
const LEASE_ATTEMPTS: u32 = 5;

/// The files that a new sandbox begins with, and its image.
pub(super) struct Beginning {
    pub(super) files: Files,
    /// The image, and the lease that keeps it until the sandbox's machine has its own; `None` if the root is a
    /// disk image.
    pub(super) leased: Option<(StoredImage, ImageLease)>,
    pub(super) warnings: Vec<Notice>,
}

/// The source of the files.
pub(super) enum Files {
    /// The image alone.
    Image(Box<StoredImage>),
    /// A disk image.
    Disk(Box<FoundRootDisk>),
    /// Another sandbox, or its snapshot.
    Sandbox(Box<Origin>),
}

impl Beginning {
    /// Finds what the options name, and pulls the image if necessary.
    pub(super) async fn find(
        shared: &Arc<Shared>,
        store: &Store,
        options: &Arc<SandboxOptions>,
        observer: Option<&Observer>,
    ) -> Result<Self, Error> {
        if let Some(disk) = &options.root_disk {
            let found = found_disk(disk).await?;
            return Ok(Self::without_image(Files::Disk(Box::new(found))));
        }
        let Some(from) = &options.from_sandbox else {
            let (image, lease, mut warnings) =
                leased_image(shared, store, options, observer).await?;
            warnings.extend(platform_warning(&options.image, &image.record.platform));
            return Ok(Self {
                files: Files::Image(Box::new(image.clone())),
                leased: Some((image, lease)),
                warnings,
            });
        };
        let origin = Box::new(origin(shared, from).await?);
        if origin.spec.root_disk.is_some() {
            return Ok(Self::without_image(Files::Sandbox(origin)));
        }
        let (image, lease) = held_image(store, &origin).await?;
        let warning = platform_warning(&origin.spec.image, &image.record.platform);
        Ok(Self {
            files: Files::Sandbox(origin),
            leased: Some((image, lease)),
            warnings: warning.into_iter().collect(),
        })
    }

    const fn without_image(files: Files) -> Self {
        Self {
            files,
            leased: None,
            warnings: Vec::new(),
        }
    }
}

impl Files {
    /// Returns the root filesystem of a sandbox with these files and this image.
    pub(super) fn root<'a>(&'a self, image: Option<&'a StoredImage>) -> Root<'a> {
        let source = match self {
            Self::Image(image) => return Root::New(image),
            Self::Disk(_) => None,
            Self::Sandbox(origin) => origin.spec.network.as_ref().map(|network| Source {
                secrets: &network.secrets,
                requests: &network.requests,
                trust: &origin.trust,
            }),
        };
        Root::Existing { image, source }
    }

    /// Creates a sandbox with these files. The image is that of another sandbox.
    pub(super) fn create(
        self,
        home: &Home,
        image: Option<&StoredImage>,
        options: CreateOptions,
    ) -> Result<(StoredSandbox, Lock), CreateError> {
        match self {
            Self::Disk(disk) => StoredSandbox::create_over(home, *disk, options),
            Self::Sandbox(origin) => origin.create(home, image, options),
            Self::Image(image) => StoredSandbox::create(home, &image, options),
        }
    }
}

/// Returns the disk that a new sandbox begins with, of `SANDBOX[@SNAPSHOT]`.
async fn origin(shared: &Arc<Shared>, from: &str) -> Result<Origin, Error> {
    let (name, snapshot) = match from.split_once('@') {
        Some((name, snapshot)) => (name.to_owned(), Some(snapshot.to_owned())),
        None => (from.to_owned(), None),
    };
    let found = shared.with_home(move |shared| super::find(shared, &name));
    let snapshots = SandboxSnapshots::new(found.await?);
    let origin = snapshots.origin(snapshot, true).await;
    origin.map_err(|error| shared.in_home(error.into()))
}

/// Looks into a disk image.
async fn found_disk(disk: &RootDisk) -> Result<FoundRootDisk, Error> {
    let choice = RootDiskChoice {
        path: disk.path.clone(),
        format: disk.format,
        filesystem: disk.filesystem,
        partition: disk.partition,
    };
    blocking(move || Ok::<_, Error>(choice.find()?)).await
}

/// Leases the image of a sandbox, which is in the store as long as the sandbox exists.
async fn held_image(store: &Store, origin: &Origin) -> Result<(StoredImage, ImageLease), Error> {
    let (store, spec) = (store.clone(), origin.spec.clone());
    let leasing = blocking(move || {
        let image = store.find(&spec.image_digest);
        let image = image.map_err(|error| missing_image(&spec, error))?;
        let lease = store.lease(&image)?;
        Ok::<_, Error>((image, lease))
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
