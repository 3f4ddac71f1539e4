use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use msb_client::Shared;
use msb_runtime::{SandboxId, VOLUME_BYTES, Volume as StoredVolume, VolumeError, VolumeName};
use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Operation, Removal, Size};

/// The volumes: ext4 disks that have a name and outlive sandboxes.
///
/// ```no_run
/// use msb_sdk::{Mount, Size};
///
/// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
/// msb.volumes().create("cache", Some(Size::new(1 << 30))).await?;
/// let sandbox = msb
///     .sandboxes()
///     .run("debian")
///     .mount(Mount::volume("cache", "/cache"))
///     .await?;
/// # let _ = sandbox;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Volumes {
    shared: Arc<Shared>,
}

/// The options of a new volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct VolumeOptions {
    /// The name; a random one if `None`.
    pub name: Option<String>,
    /// The size of the disk, which is sparse; 8 GiB if `None`.
    pub size: Option<Size>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
}

/// The description of a volume, with the keys of `msb volume inspect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VolumeInfo {
    /// The name.
    pub name: String,
    /// The creation time, in seconds since the epoch.
    pub created_s: u64,
    /// The size of the disk, in bytes.
    pub size_bytes: u64,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// The space that the disk takes on the host, in bytes.
    pub allocated_bytes: u64,
    /// Names of the sandboxes, running or not, that use the volume.
    pub sandboxes: Vec<String>,
    /// The directory of the volume's files.
    pub directory: PathBuf,
}

impl Volumes {
    pub(crate) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, Error> + Send + 'static,
    ) -> Operation<T> {
        let shared = Arc::clone(&self.shared);
        Operation::new(async move { shared.with_home(work).await })
    }

    fn volume(&self, info: VolumeInfo) -> Volume {
        Volume {
            volumes: self.clone(),
            info,
        }
    }

    /// Creates a volume; of 8 GiB without a size.
    ///
    /// # Errors
    /// [`NameTaken`](ErrorKind::NameTaken), [`InvalidArgument`](ErrorKind::InvalidArgument).
    pub fn create(&self, name: impl Into<String>, size: Option<Size>) -> Operation<Volume> {
        self.create_with(VolumeOptions {
            name: Some(name.into()),
            size,
            ..VolumeOptions::default()
        })
    }

    /// Creates a volume with these options.
    ///
    /// # Errors
    /// Fails as [`create`](Self::create) does.
    pub fn create_with(&self, options: VolumeOptions) -> Operation<Volume> {
        let volumes = self.clone();
        let creating = self.run(move |shared| {
            let name: VolumeName = match options.name {
                Some(name) => name.parse()?,
                None => SandboxId::random()?.as_str().parse()?,
            };
            let size_bytes = options.size.map_or(VOLUME_BYTES, Size::bytes);
            let home = shared.home();
            let volume = StoredVolume::create(home, name, size_bytes, options.labels)?;
            Ok(info(shared, volume)?)
        });
        Operation::new(async move { Ok(volumes.volume(creating.await?)) })
    }

    /// Returns the volume with this name.
    ///
    /// # Errors
    /// [`VolumeNotFound`](ErrorKind::VolumeNotFound).
    pub fn get(&self, name: impl Into<String>) -> Operation<Volume> {
        let (volumes, name) = (self.clone(), name.into());
        let finding = self.run(move |shared| {
            let volume = find(shared, &name)?;
            Ok(info(shared, volume)?)
        });
        Operation::new(async move { Ok(volumes.volume(finding.await?)) })
    }

    /// Returns all volumes, in the order of their names.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn list(&self) -> Operation<Vec<Volume>> {
        let listing = self.list_each();
        Operation::new(async move { listing.await?.into_iter().collect() })
    }

    /// Returns all volumes, in the order of their names, and the error of each that cannot be read.
    ///
    /// # Errors
    /// If the directory of volumes cannot be read.
    pub fn list_each(&self) -> Operation<Vec<Result<Volume, Error>>> {
        let volumes = self.clone();
        let listing = self.run(all);
        Operation::new(async move {
            let infos = listing.await?.into_iter();
            Ok(infos.map(|info| Ok(volumes.volume(info?))).collect())
        })
    }

    /// Returns the volumes that no sandbox uses, and the error of each that cannot be read.
    ///
    /// # Errors
    /// If the directory of volumes cannot be read.
    pub fn unused(&self) -> Operation<Vec<Result<Volume, Error>>> {
        let volumes = self.clone();
        let listing = self.run(|shared| {
            sweep(shared)?;
            all(shared)
        });
        Operation::new(async move {
            let infos = listing.await?.into_iter();
            let is_unused = |info: &Result<VolumeInfo, Error>| {
                info.as_ref().map_or(true, |info| info.sandboxes.is_empty())
            };
            let unused = infos.filter(is_unused);
            Ok(unused.map(|info| Ok(volumes.volume(info?))).collect())
        })
    }

    /// Removes those of the volumes with these names that no sandbox uses, with their content. Those
    /// that a sandbox uses, or that do not exist any more, are left out of the result.
    ///
    /// # Errors
    /// If the volumes cannot be read. The failure of one is in its [`Removal`].
    pub fn remove_unused<T: Into<String>>(
        &self,
        names: impl IntoIterator<Item = T>,
    ) -> Operation<Vec<Removal>> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        self.run(move |shared| Ok(remove_unused(shared, &names)))
    }

    /// Removes a volume with its content.
    ///
    /// # Errors
    /// [`VolumeNotFound`](ErrorKind::VolumeNotFound), [`VolumeInUse`](ErrorKind::VolumeInUse) if a
    /// sandbox, running or not, mounts it.
    pub fn remove(&self, name: impl Into<String>) -> Operation<()> {
        let name = name.into();
        self.run(move |shared| {
            sweep(shared)?;
            Ok(find(shared, &name)?.remove(shared.home())?)
        })
    }

    /// Removes every volume that no sandbox mounts, and returns their names.
    ///
    /// # Errors
    /// If a volume cannot be removed.
    pub fn prune(&self) -> Operation<Vec<String>> {
        self.run(|shared| {
            sweep(shared)?;
            let infos = all(shared)?.into_iter();
            let names = infos.map(|info| Ok(info?.name));
            let names = names.collect::<Result<Vec<_>, Error>>()?;
            let removals = remove_unused(shared, &names).into_iter();
            let removed = removals.map(|removal| removal.freed_bytes.map(|_| removal.name));
            removed.collect()
        })
    }
}

/// A volume.
#[derive(Debug, Clone)]
pub struct Volume {
    volumes: Volumes,
    info: VolumeInfo,
}

impl Volume {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Returns the description, as it was when the volume was found.
    pub fn info(&self) -> &VolumeInfo {
        &self.info
    }

    /// Removes the volume with its content.
    ///
    /// # Errors
    /// Fails as [`Volumes::remove`] does.
    pub fn remove(&self) -> Operation<()> {
        self.volumes.remove(self.info.name.as_str())
    }
}

/// Removes what ended processes have left, which may still seem to use a volume.
fn sweep(shared: &Shared) -> Result<(), Error> {
    msb_runtime::Sandbox::sweep(shared.home())?;
    Ok(StoredVolume::sweep(shared.home())?)
}

fn all(shared: &Shared) -> Result<Vec<Result<VolumeInfo, Error>>, Error> {
    let mut infos = Vec::new();
    for volume in StoredVolume::all(shared.home())? {
        match volume.and_then(|volume| info(shared, volume)) {
            // It was removed meanwhile.
            Err(VolumeError::Missing { .. }) => {}
            read => infos.push(read.map_err(Error::from)),
        }
    }
    Ok(infos)
}

fn remove_unused(shared: &Shared, names: &[String]) -> Vec<Removal> {
    let mut removals = Vec::new();
    for name in names {
        let removed = find(shared, name).and_then(|volume| {
            let size_bytes = volume.allocated_bytes().unwrap_or(0);
            Ok(volume.remove(shared.home()).map(|()| size_bytes)?)
        });
        let kind = removed.as_ref().err().map(Error::kind);
        if !matches!(
            kind,
            Some(ErrorKind::VolumeInUse | ErrorKind::VolumeNotFound)
        ) {
            removals.push(Removal::new(name.clone(), removed));
        }
    }
    removals
}

fn find(shared: &Shared, name: &str) -> Result<StoredVolume, Error> {
    match name.parse() {
        Ok(name) => Ok(StoredVolume::find(shared.home(), &name)?),
        // A name that no volume can have is a name that no volume has.
        Err(_) => {
            let name = msb_client::printable(name);
            let message = format!("no such volume: {name}");
            Err(Error::new(ErrorKind::VolumeNotFound, message).with_detail("name", name))
        }
    }
}

fn info(shared: &Shared, volume: StoredVolume) -> Result<VolumeInfo, VolumeError> {
    Ok(VolumeInfo {
        allocated_bytes: volume.allocated_bytes()?,
        sandboxes: volume.sandboxes(shared.home())?,
        directory: volume.directory().to_owned(),
        name: volume.spec.name.to_string(),
        created_s: volume.spec.created_s,
        size_bytes: volume.spec.size_bytes,
        labels: volume.spec.labels,
    })
}
