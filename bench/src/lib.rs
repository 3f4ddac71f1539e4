//! `msb bench`: what msb costs, beside the least it could cost and beside others that do the same work.
//! Only ratios travel between machines.
//!
//! A benchmark measures, and gives a `Report`: tables of figures, each with the conditions it was taken
//! under, and the targets that it judges. The report is what is shown, whatever the benchmark.

mod allocation;
mod boot;
mod bound;
mod disk;
mod exec;
mod fs;
mod growth;
mod image;
mod layout;
mod measure;
mod msb;
mod report;
mod sandbox;
mod timing;

use anyhow::Result;
use clap::Subcommand;

pub use msb::Msb;
pub use sandbox::remove_all as remove_sandboxes;

/// The benchmarks.
#[derive(Debug, Subcommand)]
pub enum Benchmark {
    /// A sandbox's filesystems, measured from within: the image's files, its writable disk, others
    #[command(after_help = fs::HELP)]
    Fs(fs::Arguments),
    /// From a typed command to a sandbox's first byte, in one go and in stages
    Boot(boot::Arguments),
    /// Taking an image, against the least it could cost and against other tools
    Image(image::Arguments),
    /// How the cost of images and sandboxes grows with layers, files and whiteouts
    Growth(growth::Arguments),
    /// A writable disk before its first use: time, bytes, and what an idle guest makes of it
    Disk(disk::Arguments),
    /// `msb exec`: its output against the console's, many at once, a reader that stalls
    Exec(exec::Arguments),
    /// Read, hash, decompress, hash and write an OCI layout's blobs: the bound of loading it
    #[command(hide = true)]
    Bound(image::BoundArguments),
    /// Run a command and print what it took, as JSON
    #[command(hide = true)]
    Measure(measure::Arguments),
}

impl Benchmark {
    /// Whether it is what another benchmark measures.
    #[must_use]
    pub const fn is_measured(&self) -> bool {
        matches!(self, Self::Bound(_) | Self::Measure(_))
    }
}

/// Measures and shows. Gives whether every target is met.
///
/// # Errors
/// What keeps a benchmark from being run.
pub fn run(benchmark: &Benchmark, msb: &Msb) -> Result<bool> {
    let (report, showing) = match benchmark {
        Benchmark::Boot(arguments) => (boot::run(arguments, msb)?, &arguments.showing),
        Benchmark::Image(arguments) => (image::run(arguments, msb)?, &arguments.showing),
        Benchmark::Growth(arguments) => (growth::run(arguments, msb)?, &arguments.showing),
        Benchmark::Disk(arguments) => (disk::run(arguments, msb)?, &arguments.showing),
        Benchmark::Exec(arguments) => (exec::run(arguments, msb)?, &arguments.showing),
        Benchmark::Bound(arguments) => return image::bound(arguments).map(|()| true),
        Benchmark::Measure(arguments) => return measure::run(arguments).map(|()| true),
        Benchmark::Fs(arguments) => (fs::run(arguments, msb)?, &arguments.showing),
    };
    showing.show(&report)?;
    Ok(report.targets.iter().all(|target| target.met))
}
