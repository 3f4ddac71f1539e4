//! What is timed, suite by suite.

mod copy_up;
mod database;
mod files;
mod git;
mod many_files;
mod metadata;
mod mixed;
mod package;
mod read_heavy;
mod single_file;
mod snapshots;

use anyhow::Result;

use crate::message::Suite;
use crate::samples::Samples;
use crate::scene::Scene;
use crate::sizes::Sizes;

/// What a workload is to do this time.
pub(crate) struct Job<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) sizes: &'a Sizes,
    /// From 0.
    pub(crate) round: usize,
    pub(crate) rounds: usize,
}

/// What is timed.
pub(crate) type Act<'a> = Box<dyn FnOnce(&mut Samples) -> Result<()> + 'a>;

/// A workload: what it makes ready is not timed, what it then does is.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) prepare: for<'a> fn(&'a Job<'a>) -> Result<Act<'a>>,
    /// Whether it makes sense in a place.
    pub(crate) fits: fn(&Scene) -> bool,
    /// What this system lacks for it, in words.
    pub(crate) lacks: fn() -> Option<String>,
    /// How often it can be run.
    pub(crate) rounds_max: fn() -> usize,
    /// Whether it matters by how much the filesystem grows.
    pub(crate) grows: bool,
}

impl Workload {
    /// One that only reads: it runs everywhere, needs nothing, and can be repeated.
    const fn new(name: &'static str, prepare: for<'a> fn(&'a Job<'a>) -> Result<Act<'a>>) -> Self {
        Self {
            name,
            prepare,
            fits: |_| true,
            lacks: || None,
            rounds_max: || usize::MAX,
            grows: false,
        }
    }

    /// One that also writes.
    const fn writing(
        name: &'static str,
        prepare: for<'a> fn(&'a Job<'a>) -> Result<Act<'a>>,
    ) -> Self {
        Self {
            fits: |scene| !scene.read_only,
            ..Self::new(name, prepare)
        }
    }
}

/// The workloads of a suite, in their order.
pub(crate) fn of(suite: Suite) -> &'static [Workload] {
    match suite {
        Suite::Mixed => &mixed::WORKLOADS,
        Suite::Metadata => &metadata::WORKLOADS,
        Suite::ReadHeavy => &read_heavy::WORKLOADS,
        Suite::ManyFiles => &many_files::WORKLOADS,
        Suite::SingleFile => &single_file::WORKLOADS,
        Suite::Git => &git::WORKLOADS,
        Suite::Database => &database::WORKLOADS,
        Suite::Package => &package::WORKLOADS,
        Suite::Snapshots => &snapshots::WORKLOADS,
        Suite::CopyUp => &copy_up::WORKLOADS,
    }
}
