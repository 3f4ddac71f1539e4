//! `msb bench fs`: filesystem workloads in a guest, timed there, on the image's files and on other
//! filesystems in the same guest, and on the host's own kernel.

mod disk;
mod guest;
mod mounts;
mod native;
mod places;
mod progress;
mod records;
mod runner;
mod tables;
mod targets;
mod words;

pub(crate) use runner::PROGRAM as RUNNER;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use msb_bench_runner::{BenchTarget, Facts, Line, Lower, Part, Request, Sizes, Suite};

use crate::msb::{Msb, vmm_words};
use crate::report::{Cache, Machine, Report, Showing, Table};

/// The help text after the options.
pub(crate) const HELP: &str = "\
A static program is put into a sandbox and runs the workloads there by the guest's own clock; the host \
times nothing. Each round runs each workload in every place, one after the other.

Places, a column each:
  image      the image's files, as the guest's kernel serves them
  native root  the image's files in a sandbox with --native-root, which runs after the other one
  upper      a copy of them on the writable disk, through the overlay
  tmpfs      a copy of them in the guest's memory
  virtio-fs  a copy of them in a directory of the host, shared with -v
  overlay    a copy in the fifth of ten directories, with an overlay over them
  n-layer    each of the image's layers as EROFS, with an overlay over them
  erofs      the image's disk without an overlay; only what reads runs there
  ext4       a copy on a volume: plain ext4, which the others are compared with

With --against native (root) the host's kernel has tables of its own: the image's disks as EROFS and \
overlay, an EROFS mount and a lower layer for each layer, fuse-overlayfs where it is installed, and \
plain ext4.

Cold means that the guest's caches are dropped before each workload; with --host-cold the host's are \
too. What the image lacks a program for is left out, and named. Targets are judged where whole suites \
are run: not with --only and --quick. All suites take long under emulation; --suite names some.

Examples:
  msb bench fs --quick                            see that everything works
  msb bench fs --only metadata,lookup --rounds 9  look closer at some workloads
  msb bench fs --suite metadata,mixed             whole suites, judged
  msb bench fs --suite git,copy-up --against ext4,native-root  the two kinds of root
  msb bench fs python:3.12-slim --html out.html   a page with plots
  msb bench fs --suite single-file --snapshot     a disk with a snapshot beside a raw one, a volume
  sudo msb bench fs --against virtiofs,ext4,native --host-cold";

/// Arguments of `msb bench fs`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// An image with Python's standard library in /usr/lib or /usr/local/lib
    #[arg(default_value = "docker.io/library/python:3.12-slim")]
    image: String,
    /// The VMM: krun, qemu, or auto for one that this host can run
    #[arg(long, default_value = "auto", env = "MSB_VMM")]
    vmm: String,
    /// Guest memory: half of it is for tmpfs, and a file that is larger than it is never warm
    #[arg(short, long, value_name = "SIZE", default_value = "2G")]
    memory: String,
    /// Number of rounds; each runs every workload in every place, in turn
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Only these suites
    #[arg(long = "suite", value_name = "NAMES", value_delimiter = ',', value_parser = words::suites())]
    suites: Vec<Suite>,
    /// Only workloads with one of these words in their name
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    only: Vec<String>,
    /// Filesystems to compare the image's files with, beside the upper and tmpfs
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_values = ["virtiofs", "overlay", "layers", "erofs", "ext4"]
    )]
    against: Vec<Against>,
    /// Size of the file for requests of 4 KiB, in MiB
    #[arg(long, default_value_t = 1024)]
    file_mib: u64,
    /// Also drop the host's caches, which needs root
    #[arg(long)]
    host_cold: bool,
    /// Measure a sandbox created with --rm, whose root never waits for the disk
    #[arg(long)]
    rm: bool,
    /// Measure a sandbox with a snapshot, whose writable disk is a list of generations
    #[arg(long, conflicts_with = "rm")]
    snapshot: bool,
    /// Run one round with little work, to check that everything works: its figures mean nothing
    #[arg(long)]
    quick: bool,
    /// The directory for the shared directory, and for disks for the host's kernel
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    work: PathBuf,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// A filesystem to compare the image's files with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Against {
    /// A host directory, shared with the guest
    Virtiofs,
    /// Ten layers of plain directories on a volume, as container engines store images
    Overlay,
    /// The image's layers, mounted one by one; needs losetup in the image
    Layers,
    /// The image's disk, mounted without an overlay; only workloads that read run there
    Erofs,
    /// A volume
    Ext4,
    /// The image's files on a native root, in a second sandbox
    NativeRoot,
    /// The host's own kernel; needs root
    Native,
}

/// The request and the output of one run of the runner.
struct Outcome {
    request: Request,
    facts: Facts,
    lines: Vec<Line>,
    /// The label of the runs with dropped caches.
    cold: Cache,
    /// True if the sandbox's root syncs nothing.
    is_thrown_away: bool,
    /// True if the sandbox has a snapshot.
    has_snapshot: bool,
    /// The directory that paths are shown relative to, if the run created one for its places.
    directory: Option<PathBuf>,
}

impl Outcome {
    /// Formats a path for the report, without the temporary directory that held it.
    fn shown(&self, path: &Path) -> String {
        let within = self.directory.as_ref();
        let within = within.and_then(|directory| path.strip_prefix(directory).ok());
        within.unwrap_or(path).display().to_string()
    }
}

impl Arguments {
    fn has(&self, against: Against) -> bool {
        self.against.contains(&against)
    }

    /// Returns the name of the report. A selection of workloads and `--host-cold` make separate
    /// results.
    fn name(&self) -> String {
        let mut name = "fs".to_owned();
        if !self.suites.is_empty() {
            let names: Vec<&str> = self
                .suites
                .iter()
                .map(|&suite| words::name(suite))
                .collect();
            name = format!("{name} --suite {}", names.join(","));
        }
        if !self.only.is_empty() {
            name = format!("{name} --only {}", self.only.join(","));
        }
        if self.host_cold {
            name.push_str(" --host-cold");
        }
        if self.snapshot {
            name.push_str(" --snapshot");
        }
        name
    }

    /// Returns the request to measure in these places.
    fn request(&self, places: Vec<BenchTarget>, source: Lower, mut parts: Vec<Part>) -> Request {
        parts.retain(|part| self.suites.is_empty() || self.suites.contains(&part.suite));
        let full = Sizes::full(self.file_mib);
        Request {
            places,
            source,
            parts,
            rounds: if self.quick { 1 } else { self.rounds },
            only: self.only.clone(),
            sizes: if self.quick { Sizes::quick() } else { full },
            settle: true,
            ask_host: false,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    ensure!(arguments.rounds > 0, "--rounds must be at least 1");
    let outcome = guest::measure(arguments, msb)?;
    let mut tables = tables::from_outcome(&outcome, "in the guest");
    // A target applies only to a whole suite.
    let whole = !arguments.quick && arguments.only.is_empty();
    let targets = if whole {
        targets::judge(&tables)
    } else {
        Vec::new()
    };
    if arguments.has(Against::Native) {
        let native = native::measure(arguments, msb)?;
        tables.extend(tables::from_outcome(&native, "on the host's own kernel"));
    }
    ensure!(
        !tables.is_empty(),
        "no workload can be run with these --suite and --only: the image lacks the programs, or no \
         name contains the words"
    );
    let machine = Machine::this(Some(vmm_words(&arguments.vmm).to_owned()));
    let tables = tables
        .into_iter()
        .map(|shown| shown.table)
        .collect::<Vec<Table>>();
    Ok(Report::new(arguments.name(), machine, tables, targets))
}
