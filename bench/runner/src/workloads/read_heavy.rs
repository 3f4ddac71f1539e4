//! Eight files in two directories of the library, read again and again.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::files::{list, read_each};
use super::{Act, Job, Workload};

const DIRECTORIES: usize = 2;
/// The number of files of each directory: those whose size is nearest to the next constant.
const FILES: usize = 4;
const NEAR_BYTES: u64 = 64 << 10;
/// The number of rounds of requests.
const ROUNDS: usize = 8;

pub(super) static WORKLOADS: [Workload; 4] = [
    Workload::new("stat_again", stat_again),
    Workload::new("readdir_again", readdir_again),
    Workload::new("open_read_close", open_read_close),
    Workload::new("open_again", open_again),
];

fn stat_again<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let files = files(job)?;
    Ok(Box::new(move |samples| {
        for file in again(&files) {
            samples.operation(|| fs::symlink_metadata(file));
        }
        Ok(())
    }))
}

fn readdir_again<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let files = files(job)?;
    let firsts = files.iter().step_by(FILES);
    let directories: Vec<PathBuf> = firsts
        .filter_map(|file| file.parent())
        .map(Path::to_owned)
        .collect();
    Ok(Box::new(move |samples| {
        for directory in again(&directories) {
            samples.operation(|| list(directory));
        }
        Ok(())
    }))
}

fn open_read_close<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let files = files(job)?;
    Ok(Box::new(move |samples| {
        read_each(again(&files), samples);
        Ok(())
    }))
}

/// Opens each file as often as there are rounds, before the next file.
fn open_again<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let files = files(job)?;
    Ok(Box::new(move |samples| {
        for file in &files {
            for _ in 0..ROUNDS {
                samples.operation(|| File::open(file).map(drop));
            }
        }
        Ok(())
    }))
}

fn again(paths: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    (0..ROUNDS).flat_map(move |_| paths)
}

/// Returns the same files in every place: those of the directories with the most files.
fn files(job: &Job<'_>) -> Result<Vec<PathBuf>> {
    let mut by_directory: BTreeMap<&Path, Vec<&PathBuf>> = BTreeMap::new();
    for file in &job.fixture.listing.files {
        if let Some(directory) = file.parent() {
            by_directory.entry(directory).or_default().push(file);
        }
    }
    let mut directories: Vec<Vec<&PathBuf>> = by_directory.into_values().collect();
    directories.sort_by_key(|files| Reverse(files.len()));
    directories.truncate(DIRECTORIES);
    let mut chosen = Vec::new();
    for mut files in directories {
        files.sort_by_cached_key(|file| {
            fs::metadata(file).map_or(u64::MAX, |metadata| metadata.len().abs_diff(NEAR_BYTES))
        });
        chosen.extend(files.into_iter().take(FILES).cloned());
    }
    ensure!(
        chosen.len() == DIRECTORIES * FILES,
        "the library has too few files"
    );
    Ok(chosen)
}
