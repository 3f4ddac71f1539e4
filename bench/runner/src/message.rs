use std::path::{Path, PathBuf, StripPrefixError};

use serde::{Deserialize, Serialize};

use crate::sizes::Sizes;

/// What is to be measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// Where: names are what records are told apart by.
    pub places: Vec<Place>,
    /// What places without files of their own get a copy of.
    pub source: Lower,
    /// One after the other, each over all its rounds.
    pub parts: Vec<Part>,
    /// How often each workload is run in each place.
    pub rounds: u32,
    /// Only workloads whose name contains one of these; all where it is empty.
    pub only: Vec<String>,
    /// How much each workload does.
    pub sizes: Sizes,
    /// Whether what is dirty is written back before each workload, so that nobody else's writing is
    /// timed.
    pub settle: bool,
    /// Whether the host is asked to drop its caches whenever the guest drops its own.
    pub ask_host: bool,
}

/// A directory on one kind of filesystem.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Place {
    /// What its column is called.
    pub name: String,
    /// The files to read, where they lie there already; otherwise the source is copied into `work`.
    pub lower: Option<Lower>,
    /// Where workloads write: made if it is missing.
    pub work: PathBuf,
    /// What is mounted at `work`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mounted: Option<Mounted>,
}

/// What is mounted for a place, and unmounted at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mounted {
    /// An overlay with a copy of the source, or with layers that show it.
    Overlay(Overlay),
    /// A disk of EROFS that has the source, read only and with nothing over it.
    Disk(PathBuf),
}

/// An overlay of several lower layers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Overlay {
    /// What it needs is made here: what is written, layers or where they are mounted.
    pub base: PathBuf,
    /// The lower layers.
    pub lowers: Lowers,
    /// Options of the mount beyond the layers', each with a comma before it.
    pub options: String,
}

/// An overlay's lower layers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lowers {
    /// So many plain directories, the middle one with a copy of the source.
    Directories(u32),
    /// An image's layers, base first, each mounted by itself. The source is what they show.
    Images {
        /// The disk that they lie on.
        disk: PathBuf,
        /// Where.
        extents: Vec<Extent>,
    },
}

/// A part of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Where it begins.
    pub start_bytes: u64,
    /// How long it is.
    pub length_bytes: u64,
}

/// Files that are read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Lower {
    /// A tree of many small files: Python's standard library.
    pub tree: PathBuf,
    /// One large file.
    pub large: Option<PathBuf>,
}

impl Lower {
    /// The same files by their paths from a directory that they lie below.
    ///
    /// # Errors
    /// One of them lies elsewhere.
    pub(crate) fn below(&self, directory: &Path) -> Result<Self, StripPrefixError> {
        let relative = |path: &PathBuf| path.strip_prefix(directory).map(Path::to_owned);
        Ok(Self {
            tree: relative(&self.tree)?,
            large: self.large.as_ref().map(relative).transpose()?,
        })
    }

    /// Files that are named from a directory, by their whole paths.
    pub(crate) fn within(&self, directory: &Path) -> Self {
        Self {
            tree: directory.join(&self.tree),
            large: self.large.as_ref().map(|path| directory.join(path)),
        }
    }
}

/// Workloads that belong together, and where they are run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Part {
    /// Which workloads.
    pub suite: Suite,
    /// Names of places.
    pub places: Vec<String>,
    /// Whether each is also run with the caches dropped.
    pub cold: bool,
}

/// Workloads that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suite {
    /// Fourteen that read, write and look up.
    Mixed,
    /// Seven that only look up and read.
    Metadata,
    /// A few files, asked for again and again.
    ReadHeavy,
    /// Thousands of files that are made, changed and removed.
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
    /// First changes of files that lie in a lower layer. Consumes them, so it comes last.
    CopyUp,
}

/// What was in memory before the clock started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// What is read had been read before.
    Warm,
    /// Caches were dropped.
    Cold,
}

/// A line of the runner's output.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line {
    /// A workload was run.
    Measured(Record),
    /// The host drops its caches, then answers with a line.
    DropHostCaches,
    /// A workload was not run, and why.
    LeftOut {
        /// Its suite.
        suite: Suite,
        /// Its name.
        workload: String,
        /// In words.
        reason: String,
    },
}

/// One run of one workload in one place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The workload's suite; always there.
    pub suite: Option<Suite>,
    /// The workload.
    pub workload: String,
    /// The place's name.
    pub place: String,
    /// From 0.
    pub round: u32,
    /// What was in memory before; always there.
    pub cache: Option<CacheState>,
    /// The whole workload's time.
    pub seconds: f64,
    /// Single operations.
    pub operations: u64,
    /// Those that failed.
    pub errors: u64,
    /// What the first failure said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Half of the operations took at most so long, in ns.
    pub p50_ns: u64,
    /// 95 of 100 operations took at most so long, in ns.
    pub p95_ns: u64,
    /// 99 of 100 operations took at most so long, in ns.
    pub p99_ns: u64,
    /// By how much the filesystem grew, after a sync, where the workload is about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth_bytes: Option<i64>,
}

/// What there is to work with under a root.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Facts {
    /// Python's standard library and the largest file of the root's filesystem up to 64 MiB.
    pub lower: Lower,
    /// Files in the library.
    pub tree_files: u64,
    /// Size of the largest file.
    pub large_bytes: u64,
    /// A directory of the image to write in.
    pub work: PathBuf,
    /// Memory, as the kernel has it.
    pub memory_bytes: u64,
    /// The kernel, as `uname -r` says it.
    pub kernel: String,
    /// Whether there is a `losetup`, for layers that are mounted one by one.
    pub has_losetup: bool,
}
