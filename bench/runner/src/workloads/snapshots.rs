//! Ten files overwritten, then a snapshot, up to a depth: the growth of the cost of a change with
//! the number of snapshots below it.
//!
//! These are left out, with a note, until msb supports snapshots. A snapshot belongs between two
//! levels, and without it the workloads would measure something else.

use super::files::write;
use super::{Act, Job, Workload};

/// The number of files that are overwritten on each level.
const FILES: usize = 10;
const FILE_BYTES: usize = 4096;

pub(super) static WORKLOADS: [Workload; 3] = [
    to("snapshots_10", overwrite::<10>),
    to("snapshots_50", overwrite::<50>),
    to("snapshots_100", overwrite::<100>),
];

const fn to(
    name: &'static str,
    prepare: for<'a> fn(&'a Job<'a>) -> anyhow::Result<Act<'a>>,
) -> Workload {
    Workload {
        lacks: || Some("msb takes no snapshots yet".to_owned()),
        ..Workload::writing(name, prepare)
    }
}

fn overwrite<'a, const DEPTH: usize>(job: &'a Job<'a>) -> anyhow::Result<Act<'a>> {
    let files: Vec<_> = (0..FILES).map(|file| job.fixture.made(file)).collect();
    Ok(Box::new(move |samples| {
        for level in 0..DEPTH {
            let bytes = [u8::try_from(level)?; FILE_BYTES];
            for file in &files {
                samples.operation(|| write(file, &bytes));
            }
        }
        Ok(())
    }))
}
