use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use msb_runtime::{SandboxId, VOLUME_BYTES, Volume as StoredVolume, VolumeError, VolumeName};
use serde::{Deserialize, Serialize};

use crate::client::Shared;
use crate::{Error, ErrorKind, Operation, Size};

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
    /// Those of [`create`](Self::create).
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
        let volumes = self.clone();
        let listing = self.run(|shared| {
            let mut infos = Vec::new();
            for volume in StoredVolume::all(shared.home())? {
                match volume.and_then(|volume| info(shared, volume)) {
                    Ok(info) => infos.push(info),
                    // It was removed meanwhile.
                    Err(VolumeError::Missing { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(infos)
        });
        Operation::new(async move {
            let infos = listing.await?.into_iter();
            Ok(infos.map(|info| volumes.volume(info)).collect())
        })
    }

    /// Removes a volume with its content.
    ///
    /// # Errors
    /// [`VolumeNotFound`](ErrorKind::VolumeNotFound), [`VolumeInUse`](ErrorKind::VolumeInUse) if a
    /// sandbox, running or not, mounts it.
    pub fn remove(&self, name: impl Into<String>) -> Operation<()> {
        let name = name.into();
        self.run(move |shared| Ok(find(shared, &name)?.remove(shared.home())?))
    }

    /// Removes every volume that no sandbox mounts, and returns their names.
    ///
    /// # Errors
    /// If a volume cannot be removed.
    pub fn prune(&self) -> Operation<Vec<String>> {
        self.run(|shared| {
            msb_runtime::Sandbox::sweep(shared.home())?;
            StoredVolume::sweep(shared.home())?;
            let mut removed = Vec::new();
            for volume in StoredVolume::all(shared.home())? {
                let volume = match volume {
                    Err(VolumeError::Missing { .. }) => continue,
                    volume => volume?,
                };
                let name = volume.spec.name.to_string();
                match volume.remove(shared.home()) {
                    Ok(()) => removed.push(name),
                    Err(
                        VolumeError::Needed { .. }
                        | VolumeError::InUse { .. }
                        | VolumeError::Missing { .. },
                    ) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(removed)
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
    /// Those of [`Volumes::remove`].
    pub fn remove(&self) -> Operation<()> {
        self.volumes.remove(self.info.name.as_str())
    }
}

fn find(shared: &Shared, name: &str) -> Result<StoredVolume, Error> {
    match name.parse() {
        Ok(name) => Ok(StoredVolume::find(shared.home(), &name)?),
        // A name that no volume can have is a name that no volume has.
        Err(_) => {
            let name = crate::error::printable(name);
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
