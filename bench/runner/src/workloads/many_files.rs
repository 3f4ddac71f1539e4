//! Thousands of files in one directory: changes of their names, and four threads on files of many
//! sizes at once.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::files::{THREADS, at_once, list, read_each, write};
use super::{Act, Job, Workload};
use crate::random::Random;
use crate::samples::Samples;

const FILE_BYTES: usize = 4 << 10;
/// The largest of the files that threads share out, in KiB. The smallest has 1 KiB.
const LARGEST_KIB: usize = 32;

pub(super) static WORKLOADS: [Workload; 12] = [
    Workload::writing("create_10k", create),
    Workload::writing("append_10k", append),
    Workload::writing("open_10k", open),
    Workload::writing("stat_10k", stat),
    Workload::writing("readdir_10k", readdir),
    Workload::writing("rename_10k", rename),
    Workload::writing("unlink_10k", unlink),
    Workload::writing("metadata_cycles_1k", cycles),
    Workload::writing("small_create_4t", small_create),
    Workload::writing("small_read_4t", small_read),
    Workload::writing("small_stat_4t", small_stat),
    Workload::writing("small_delete_4t", small_delete),
];

fn create<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let paths = in_directory(job.fixture.made("created"), job.sizes.names)?;
    Ok(each(paths, |path| write(path, &[b'n'; FILE_BYTES])))
}

fn append<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    Ok(each(kept(job)?, |path| {
        File::options().append(true).open(path)?.write_all(b"more")
    }))
}

fn open<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    Ok(each(kept(job)?, |path| File::open(path).map(drop)))
}

fn stat<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    Ok(each(kept(job)?, |path| {
        fs::symlink_metadata(path).map(drop)
    }))
}

fn readdir<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    kept(job)?;
    let directory = job.fixture.kept("names");
    Ok(Box::new(move |samples| {
        samples.operation(|| list(&directory));
        Ok(())
    }))
}

fn rename<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    Ok(each(filled(job, "renamed")?, |path| {
        fs::rename(path, path.with_extension("renamed"))
    }))
}

fn unlink<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    Ok(each(filled(job, "unlinked")?, |path| fs::remove_file(path)))
}

/// Creates, stats, renames and removes a file, again and again, as one operation.
fn cycles<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let paths = in_directory(job.fixture.made("cycles"), job.sizes.many)?;
    Ok(each(paths, |path| {
        let renamed = path.with_extension("renamed");
        write(path, b"life")?;
        fs::symlink_metadata(path)?;
        fs::rename(path, &renamed)?;
        fs::remove_file(renamed)
    }))
}

fn small_create<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let paths = in_directory(job.fixture.made("small"), job.sizes.names)?;
    Ok(shared_out(paths, write_small))
}

fn small_read<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let paths = small(job, job.fixture.kept("small"))?;
    Ok(Box::new(move |samples| {
        at_once(samples, |number, samples| {
            read_each(paths.iter().skip(number).step_by(THREADS), samples);
        })
    }))
}

fn small_stat<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let paths = small(job, job.fixture.kept("small"))?;
    Ok(shared_out(paths, |_, path| {
        fs::symlink_metadata(path).map(drop)
    }))
}

fn small_delete<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let paths = small(job, job.fixture.made("small"))?;
    Ok(shared_out(paths, |_, path| fs::remove_file(path)))
}

/// Returns an act that processes these files one after the other.
fn each<'a>(paths: Vec<PathBuf>, act: impl Fn(&Path) -> io::Result<()> + 'a) -> Act<'a> {
    Box::new(move |samples| {
        for path in &paths {
            samples.operation(|| act(path));
        }
        Ok(())
    })
}

/// Returns an act that processes these files, with their numbers, in threads that share them out.
fn shared_out<'a>(
    paths: Vec<PathBuf>,
    act: impl Fn(usize, &Path) -> io::Result<()> + Sync + 'a,
) -> Act<'a> {
    Box::new(move |samples| {
        at_once(samples, |first, samples: &mut Samples| {
            for (number, path) in paths.iter().enumerate().skip(first).step_by(THREADS) {
                samples.operation(|| act(number, path));
            }
        })
    })
}

/// Returns names in a new directory.
fn in_directory(directory: PathBuf, count: usize) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(&directory)?;
    let path = |number| directory.join(format!("file-{number}"));
    Ok((0..count).map(path).collect())
}

/// Returns the files that stay from round to round.
fn kept(job: &Job<'_>) -> Result<Vec<PathBuf>> {
    made_once(job.fixture.kept("names"), job.sizes.names, |_, path| {
        write(path, &[b'n'; FILE_BYTES])
    })
}

/// Creates files that are removed after this round.
fn filled(job: &Job<'_>, name: &str) -> Result<Vec<PathBuf>> {
    made_once(job.fixture.made(name), job.sizes.names, |_, path| {
        write(path, &[b'n'; FILE_BYTES])
    })
}

fn small(job: &Job<'_>, directory: PathBuf) -> Result<Vec<PathBuf>> {
    made_once(directory, job.sizes.names, write_small)
}

fn made_once(
    directory: PathBuf,
    count: usize,
    make: impl Fn(usize, &Path) -> io::Result<()>,
) -> Result<Vec<PathBuf>> {
    let is_there = directory.exists();
    let paths = in_directory(directory, count)?;
    for (number, path) in paths.iter().enumerate().filter(|_| !is_there) {
        make(number, path)?;
    }
    Ok(paths)
}

/// Writes a file of 1 to 32 KiB, depending on its number.
fn write_small(number: usize, path: &Path) -> io::Result<()> {
    let kib = 1 + Random::named(&number.to_string()).below(LARGEST_KIB);
    write(path, &vec![b's'; kib << 10])
}
