//! The workloads, suite by suite.

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

use crate::fixture::Fixture;
use crate::message::Suite;
use crate::samples::Samples;
use crate::sizes::Sizes;

/// The parameters of one run of a workload.
pub(crate) struct Job<'a> {
    pub(crate) fixture: &'a Fixture,
    pub(crate) sizes: &'a Sizes,
    /// The number of the round, from 0.
    pub(crate) round: usize,
    pub(crate) rounds: usize,
}

/// The timed part of a workload.
pub(crate) type Act<'a> = Box<dyn FnOnce(&mut Samples) -> Result<()> + 'a>;

/// A workload. Its `prepare` is not timed; the act that this returns is.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) prepare: for<'a> fn(&'a Job<'a>) -> Result<Act<'a>>,
    /// Returns true if the workload makes sense in a place.
    pub(crate) fits: fn(&Fixture) -> bool,
    /// Returns the reason why this system cannot run the workload. `None` if it can.
    pub(crate) lacks: fn() -> Option<String>,
    /// Returns the largest number of runs.
    pub(crate) rounds_max: fn() -> usize,
    /// True if the growth of the filesystem is measured.
    pub(crate) grows: bool,
}

impl Workload {
    /// Returns a workload that only reads: it runs everywhere, needs no program, and can be
    /// repeated.
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

    /// Returns a workload that also writes.
    const fn writing(
        name: &'static str,
        prepare: for<'a> fn(&'a Job<'a>) -> Result<Act<'a>>,
    ) -> Self {
        Self {
            fits: |fixture| !fixture.read_only,
            ..Self::new(name, prepare)
        }
    }
}

/// Returns the workloads of a suite, in their order.
pub(crate) fn for_suite(suite: Suite) -> &'static [Workload] {
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
