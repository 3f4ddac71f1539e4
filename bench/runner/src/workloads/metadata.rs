//! Seven workloads that only look up and read, all on the library.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::files::{THREADS, at_once, list, read_each, scan};
use super::{Act, Job, Workload};

/// The number of times that directories are listed.
const RESCANS: usize = 10;

pub(super) static WORKLOADS: [Workload; 7] = [
    Workload::new("metadata_scan", metadata_scan),
    Workload::new("readdir_rescan", readdir_rescan),
    Workload::new("negative_lookup", negative_lookup),
    Workload::new("hit_miss_mix", hit_miss_mix),
    Workload::new("read_all_py", read_all_py),
    Workload::new("concurrent_negative_lookup_4t", concurrent_negative_lookup),
    Workload::new("concurrent_readdir_4t", concurrent_readdir),
];

pub(super) fn metadata_scan<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    Ok(Box::new(|samples| {
        scan(&job.fixture.tree, samples);
        Ok(())
    }))
}

fn readdir_rescan<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    Ok(Box::new(|samples| {
        for _ in 0..RESCANS {
            for directory in &job.fixture.listing.directories {
                samples.operation(|| list(directory));
            }
        }
        Ok(())
    }))
}

fn negative_lookup<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let missing = missing(job, "missing");
    Ok(Box::new(move |samples| {
        for path in &missing {
            samples.operation(|| miss(path));
        }
        Ok(())
    }))
}

/// Stats an existing file and a missing file, in turn.
fn hit_miss_mix<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let missing = missing(job, "absent");
    let there = job.fixture.listing.files.iter().cycle();
    Ok(Box::new(move |samples| {
        for (hit, absent) in there.zip(&missing) {
            samples.operation(|| fs::symlink_metadata(hit));
            samples.operation(|| miss(absent));
        }
        Ok(())
    }))
}

pub(super) fn read_all_py<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    Ok(Box::new(|samples| {
        read_each(&job.fixture.python, samples);
        Ok(())
    }))
}

fn concurrent_negative_lookup<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let missing = missing(job, "nowhere");
    Ok(Box::new(move |samples| {
        at_once(samples, |number, samples| {
            for path in missing.iter().skip(number).step_by(THREADS) {
                samples.operation(|| miss(path));
            }
        })
    }))
}

/// Lists every directory in every thread.
fn concurrent_readdir<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    Ok(Box::new(|samples| {
        at_once(samples, |_, samples| {
            for directory in &job.fixture.listing.directories {
                samples.operation(|| list(directory));
            }
        })
    }))
}

/// Returns names that do not exist, spread over the library's directories.
fn missing(job: &Job<'_>, word: &str) -> Vec<PathBuf> {
    let directories = job.fixture.listing.directories.iter().cycle();
    directories
        .take(job.sizes.lookups)
        .enumerate()
        .map(|(number, directory)| directory.join(format!("{word}-{number}.py")))
        .collect()
}

/// Looks up a missing file. Fails if it exists.
fn miss(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::other("the file still exists")),
    }
}
