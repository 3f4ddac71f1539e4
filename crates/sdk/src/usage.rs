//! The space that everything in a home takes.

use std::io;
use std::path::Path;

use msb_client::Shared;
use msb_runtime::{Sandbox as StoredSandbox, SeenFiles, Volume as StoredVolume, VolumeError};
use oci_image::Digest;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The space that a home takes on its disk, with the keys of `msb df --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Images; active are those that a sandbox or another process uses.
    pub images: UsageGroup,
    /// Files that no image needs.
    pub left_overs: UsageGroup,
    /// Files of pulls and loads that have not ended.
    pub unfinished: UsageGroup,
    /// Stores of earlier formats, which this version does not read; active are those that a process of an
    /// earlier msb uses.
    pub older_stores: UsageGroup,
    /// Writable disks of sandboxes; active are those that run.
    pub sandboxes: UsageGroup,
    /// Images of staged directories; active are those that a sandbox has.
    pub staged_directories: UsageGroup,
    /// Disks of volumes; active are those that a sandbox uses.
    pub volumes: UsageGroup,
    /// Wrapped kernels and boot disks.
    pub machine: UsageGroup,
    /// The space of all groups, in bytes.
    pub total_bytes: u64,
    /// The space that pruning images, removing stopped sandboxes and pruning volumes would free, in
    /// bytes.
    pub reclaimable_bytes: u64,
    /// The part of the images' space that packed layers take, without their cache files, in bytes.
    #[serde(default)]
    pub packed_bytes: u64,
    /// The part of the images' space that the cache files of packed layers take, in bytes.
    #[serde(default)]
    pub cache_bytes: u64,
    /// Every image by itself.
    pub each_image: Vec<ImageUsage>,
}

/// A number of objects and the space that they take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UsageGroup {
    /// Number of objects.
    pub count: usize,
    /// Number of objects that are in use.
    pub active: usize,
    /// The space that the objects take, in bytes.
    pub size_bytes: u64,
    /// The space of objects that are not in use, in bytes.
    pub reclaimable_bytes: u64,
}

/// The space that one image takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImageUsage {
    /// The digest of the manifest.
    pub digest: String,
    /// Names, in docker's short form.
    pub references: Vec<String>,
    /// True if a sandbox or another process uses the image.
    pub in_use: bool,
    /// The length of artifacts that no other image has, in bytes.
    pub unique_bytes: u64,
    /// The length of artifacts that other images have too, in bytes.
    pub shared_bytes: u64,
    /// The time of the last use, in seconds since the epoch.
    pub used_s: u64,
}

/// Measures everything in the home. Blocks.
pub(crate) fn measure(shared: &Shared) -> Result<Usage, Error> {
    let users = shared.image_users();
    let needed = |digest: &Digest| users.need(&digest.to_string());
    let images_store = shared.store()?;
    let store = images_store.usage(&needed)?;
    let mut older_stores = UsageGroup::default();
    for older in images_store.older_stores()? {
        older_stores.add(older.size_bytes, older.is_in_use);
    }
    let images = UsageGroup {
        count: store.images.len(),
        active: store.images.iter().filter(|image| image.in_use).count(),
        size_bytes: store.images_bytes,
        reclaimable_bytes: store.reclaimable_bytes - store.left_overs_bytes,
    };
    let left_overs = UsageGroup {
        count: store.left_overs,
        active: 0,
        size_bytes: store.left_overs_bytes,
        reclaimable_bytes: store.left_overs_bytes,
    };
    let unfinished = UsageGroup {
        size_bytes: store.unfinished_bytes,
        ..UsageGroup::default()
    };
    let (sandboxes, volumes, machine) = (sandboxes(shared)?, volumes(shared)?, machine(shared)?);
    let staged_directories = staged_directories(shared)?;
    let groups = [
        images,
        left_overs,
        unfinished,
        older_stores,
        sandboxes,
        staged_directories,
        volumes,
        machine,
    ];
    Ok(Usage {
        images,
        left_overs,
        unfinished,
        older_stores,
        sandboxes,
        staged_directories,
        volumes,
        machine,
        total_bytes: groups.iter().map(|group| group.size_bytes).sum(),
        reclaimable_bytes: groups.iter().map(|group| group.reclaimable_bytes).sum(),
        packed_bytes: store.packed_bytes,
        cache_bytes: store.cache_bytes,
        each_image: store.images.into_iter().map(of_image).collect(),
    })
}

fn of_image(usage: image_store::ImageUsage) -> ImageUsage {
    let used = usage.used.duration_since(std::time::UNIX_EPOCH);
    ImageUsage {
        digest: usage.digest.to_string(),
        references: usage.references,
        in_use: usage.in_use,
        unique_bytes: usage.unique_bytes,
        shared_bytes: usage.shared_bytes,
        used_s: used.map_or(0, |since| since.as_secs()),
    }
}

/// Sums the space that the sandboxes' writable disks take on the host.
fn sandboxes(shared: &Shared) -> Result<UsageGroup, Error> {
    let mut group = UsageGroup::default();
    let mut sandboxes = Vec::new();
    let listing = StoredSandbox::list(shared.home())?;
    for sandbox in listing.unreadable {
        // Nothing is known to be free to go.
        group.add(sandbox.allocated_bytes().unwrap_or(0), true);
    }
    for sandbox in listing.sandboxes {
        let is_running = sandbox.state()?.is_up();
        sandboxes.push((sandbox, is_running));
    }
    // What a running sandbox shares with its forks is not freed by removing those.
    sandboxes.sort_by_key(|(_, is_running)| !is_running);
    let mut seen = SeenFiles::new();
    // The images of staged directories are a group of their own.
    for image in shared.home().staged_images().all()? {
        seen.insert(image.identity);
    }
    for (sandbox, is_running) in sandboxes {
        let size_bytes = sandbox.unseen_bytes(&mut seen).unwrap_or(0);
        group.add(size_bytes, is_running);
    }
    Ok(group)
}

/// Sums the space that the images of staged directories take.
fn staged_directories(shared: &Shared) -> io::Result<UsageGroup> {
    let mut group = UsageGroup::default();
    for image in shared.home().staged_images().all()? {
        group.add(image.allocated_bytes, image.is_used);
    }
    Ok(group)
}

/// Sums the space that the volumes' disks take on the host.
fn volumes(shared: &Shared) -> Result<UsageGroup, VolumeError> {
    let mut group = UsageGroup::default();
    for volume in StoredVolume::all(shared.home())? {
        // An unreadable volume is reported by the list of volumes; a removed one takes no space.
        let Ok(volume) = volume else { continue };
        let size_bytes = volume.allocated_bytes().unwrap_or(0);
        group.add(size_bytes, !volume.sandboxes(shared.home())?.is_empty());
    }
    Ok(group)
}

/// Sums the space that kernels and boot disks take.
fn machine(shared: &Shared) -> io::Result<UsageGroup> {
    let mut group = UsageGroup::default();
    for directory in [shared.home().kernels(), shared.home().boot_disks()] {
        for size_bytes in sizes(&directory)? {
            group.count += 1;
            group.size_bytes += size_bytes;
        }
    }
    Ok(group)
}

impl UsageGroup {
    fn add(&mut self, size_bytes: u64, is_active: bool) {
        self.count += 1;
        self.size_bytes += size_bytes;
        if is_active {
            self.active += 1;
        } else {
            self.reclaimable_bytes += size_bytes;
        }
    }
}

fn sizes(directory: &Path) -> io::Result<Vec<u64>> {
    match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(entries) => entries
            .map(|entry| entry?.metadata().map(|file| file.len()))
            .collect(),
    }
}
