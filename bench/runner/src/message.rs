use std::path::{Path, PathBuf, StripPrefixError};

use serde::{Deserialize, Serialize};

use crate::sizes::Sizes;

/// A request to measure.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// The places to measure in. Their names are unique and identify them in records.
    pub places: Vec<BenchTarget>,
    /// The files that places without their own get a copy of.
    pub source: Lower,
    /// The parts, measured one after the other, each over all its rounds.
    pub parts: Vec<Part>,
    /// The number of runs of each workload in each place.
    pub rounds: u32,
    /// Measures only workloads with one of these words in their name; all if it is empty.
    pub only: Vec<String>,
    /// The amount of work of each workload.
    pub sizes: Sizes,
    /// True if dirty data is written back before each workload. The writes of others are then not
    /// timed.
    pub settle: bool,
    /// True if the host is asked to drop its caches whenever the guest drops its own.
    pub ask_host: bool,
}

/// A directory on one kind of filesystem.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BenchTarget {
    /// The title of the place's column.
    pub name: String,
    /// The files to read. `None` for a place without its own: the source is copied into `work`.
    pub lower: Option<Lower>,
    /// The directory that workloads write in. It is created if it is missing.
    pub work: PathBuf,
    /// The filesystem to mount at `work`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mounted: Option<Mounted>,
}

/// A filesystem that is mounted for a place, and unmounted at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mounted {
    /// An overlay with a copy of the source, or with layers that show it.
    Overlay(Overlay),
    /// An EROFS disk with the source, mounted read-only and without an overlay.
    Disk(PathBuf),
}

/// An overlay of several lower layers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Overlay {
    /// The directory for everything that the overlay needs: written files, and layers or their
    /// mount points.
    pub base: PathBuf,
    /// The lower layers.
    pub lowers: Lowers,
    /// Additional mount options, each with a comma before it.
    pub options: String,
}

/// The lower layers of an overlay.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lowers {
    /// This number of plain directories, the middle one with a copy of the source.
    Directories(u32),
    /// An image's layers, base first, each mounted by itself. Together they show the source.
    Images {
        /// The disk with the layers.
        disk: PathBuf,
        /// The positions of the layers on the disk.
        extents: Vec<Extent>,
    },
}

/// A part of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// The offset from the start of the disk, in bytes.
    pub start_bytes: u64,
    /// The length in bytes.
    pub length_bytes: u64,
}

/// Files that workloads read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Lower {
    /// A tree of many small files: Python's standard library.
    pub tree: PathBuf,
    /// One large file.
    pub large: Option<PathBuf>,
}

impl Lower {
    /// Returns the same files, with paths relative to a directory above them.
    ///
    /// # Errors
    /// If one of them is not below `directory`.
    pub(crate) fn below(&self, directory: &Path) -> Result<Self, StripPrefixError> {
        let relative = |path: &PathBuf| path.strip_prefix(directory).map(Path::to_owned);
        Ok(Self {
            tree: relative(&self.tree)?,
            large: self.large.as_ref().map(relative).transpose()?,
        })
    }

    /// Returns the same files, with their paths below `directory`.
    pub(crate) fn within(&self, directory: &Path) -> Self {
        Self {
            tree: directory.join(&self.tree),
            large: self.large.as_ref().map(|path| directory.join(path)),
        }
    }
}

/// A suite of workloads, and the places to run them in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Part {
    /// The workloads.
    pub suite: Suite,
    /// The names of the places.
    pub places: Vec<String>,
    /// True if each workload is also run with dropped caches.
    pub cold: bool,
}

/// A group of workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suite {
    /// Fourteen workloads that read, write and look up.
    Mixed,
    /// Seven workloads that only look up and read.
    Metadata,
    /// A few files, read again and again.
    ReadHeavy,
    /// Thousands of files that are created, changed and removed.
    ManyFiles,
    /// Requests of 4 KiB on one large file.
    SingleFile,
    /// git on a repository of many files.
    Git,
    /// SQLite, as Python drives it.
    Database,
    /// A package installed by dpkg, a virtual environment made by Python.
    Package,
    /// A file tree changed on top of ever more snapshots.
    Snapshots,
    /// The first changes of files in a lower layer. They use up the files, so this suite comes
    /// last.
    CopyUp,
}

/// The state of the caches before the clock started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// The data had been read before.
    Warm,
    /// The caches were dropped.
    Cold,
}

/// A line of the runner's output.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line {
    /// A workload was run.
    Measured(Record),
    /// A request to the host to drop its caches, and to answer with a line.
    DropHostCaches,
    /// A workload was not run.
    LeftOut {
        /// The suite of the workload.
        suite: Suite,
        /// The name of the workload.
        workload: String,
        /// The reason, for a person.
        reason: String,
    },
}

/// One run of one workload in one place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The workload's suite; never `None` in output.
    pub suite: Option<Suite>,
    /// The name of the workload.
    pub workload: String,
    /// The name of the place.
    pub place: String,
    /// The round, from 0.
    pub round: u32,
    /// The state of the caches; never `None` in output.
    pub cache: Option<CacheState>,
    /// The time of the whole workload, in seconds.
    pub seconds: f64,
    /// The number of single operations.
    pub operations: u64,
    /// The number of operations that failed.
    pub errors: u64,
    /// The error of the first operation that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The median of the operations' durations, in ns.
    pub p50_ns: u64,
    /// The 95th percentile of the operations' durations, in ns.
    pub p95_ns: u64,
    /// The 99th percentile of the operations' durations, in ns.
    pub p99_ns: u64,
    /// Growth of the filesystem after a sync, in bytes. `None` unless the workload measures it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth_bytes: Option<i64>,
}

/// The files and properties of the system under a root.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Facts {
    /// Python's standard library, and the largest file of the root's filesystem up to 64 MiB.
    pub lower: Lower,
    /// The number of files in the library.
    pub tree_files: u64,
    /// The size of the largest file.
    pub large_bytes: u64,
    /// A directory of the image for the workloads' files.
    pub work: PathBuf,
    /// The memory that the kernel reports.
    pub memory_bytes: u64,
    /// The kernel's `uname -r`.
    pub kernel: String,
    /// True if the image has `losetup`, which mounts layers one by one.
    pub has_losetup: bool,
}
