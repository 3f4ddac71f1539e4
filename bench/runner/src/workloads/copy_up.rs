//! First changes of files in a lower layer, each file once: an overlay copies the file up or covers
//! it. In other places the same is done to a copy.

use std::fs::{self, File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::files::read_each;
use super::{Act, Job, Workload};
use crate::copying::Listing;
use crate::random::Random;
use crate::samples::Samples;

const MIB: usize = 1 << 20;
/// The number of workloads that use up files, and of those that use up a directory.
const TAKE_FILES: usize = 4;
const TAKE_DIRECTORY: usize = 2;
/// The owner that a tree is given to.
const OWNER: u32 = 1;

pub(super) static WORKLOADS: [Workload; 7] = [
    changing("first_write", |job| each_file(job, 0, first_write)),
    changing("chmod", |job| {
        each_file(job, 1, |path| {
            fs::set_permissions(path, Permissions::from_mode(0o640))
        })
    }),
    changing("hardlink", |job| {
        each_file(job, 2, |path| {
            fs::hard_link(path, path.with_extension("linked"))
        })
    }),
    changing("unlink", |job| {
        each_file(job, 3, |path| fs::remove_file(path))
    }),
    changing("chown_tree", chown_tree),
    changing("rename_directory", rename_directory),
    Workload {
        // There is only one such file.
        rounds_max: || 1,
        ..changing("edit_large_file", edit_large_file)
    },
];

const fn changing(
    name: &'static str,
    prepare: for<'a> fn(&'a Job<'a>) -> Result<Act<'a>>,
) -> Workload {
    Workload {
        grows: true,
        ..Workload::writing(name, prepare)
    }
}

/// Returns an act that changes each of the files of this workload and round. All of them are read
/// before.
fn each_file<'a>(
    job: &'a Job<'a>,
    number: usize,
    change: fn(&Path) -> std::io::Result<()>,
) -> Result<Act<'a>> {
    let files = own_files(job, number)?;
    read_each(&files, &mut Samples::default());
    Ok(Box::new(move |samples| {
        for path in &files {
            samples.operation(|| change(path));
        }
        Ok(())
    }))
}

fn first_write(path: &Path) -> std::io::Result<()> {
    File::options().append(true).open(path)?.write_all(b"#")
}

fn chown_tree<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let listing = Listing::read(&own_directory(job, 0)?)?;
    Ok(Box::new(move |samples| {
        let entries = [&listing.directories, &listing.files, &listing.links];
        for path in entries.into_iter().flatten() {
            samples.operation(|| lchown(path, Some(OWNER), Some(OWNER)));
        }
        Ok(())
    }))
}

fn rename_directory<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let directory = own_directory(job, 1)?;
    Ok(Box::new(move |samples| {
        samples.operation(|| fs::rename(&directory, directory.with_extension("renamed")));
        Ok(())
    }))
}

/// Writes one byte in the middle, syncs with `fsync`, then reads the whole file again.
fn edit_large_file<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let path = job
        .fixture
        .large
        .as_ref()
        .context("the image has no large file")?;
    read_each([path], &mut Samples::default());
    Ok(Box::new(move |samples| {
        let middle = fs::metadata(path)?.len() / 2;
        samples.operation(|| {
            let file = File::options().write(true).open(path)?;
            file.write_all_at(b"#", middle)?;
            file.sync_all()
        });
        let mut file = File::open(path)?;
        let mut buffer = vec![0; MIB];
        while samples
            .operation(|| file.read(&mut buffer))
            .is_some_and(|count| count > 0)
        {}
        Ok(())
    }))
}

/// Returns files that no other workload and no other round uses.
fn own_files(job: &Job<'_>, number: usize) -> Result<Vec<PathBuf>> {
    let taken = own_directories(job)?;
    let free = |path: &PathBuf| !taken.iter().any(|directory| path.starts_with(directory));
    let files = job
        .fixture
        .listing
        .files
        .iter()
        .filter(|path| free(path))
        .cloned()
        .collect();
    let files = Random::named("copy_up").shuffled(files);
    let begin = (job.round * TAKE_FILES + number) * job.sizes.changed;
    let own = files.get(begin..begin + job.sizes.changed);
    Ok(own
        .context("the library has too few files for so many rounds")?
        .to_vec())
}

fn own_directory(job: &Job<'_>, number: usize) -> Result<PathBuf> {
    let mut directories = own_directories(job)?;
    Ok(directories.swap_remove(job.round * TAKE_DIRECTORY + number))
}

/// Returns the directories directly below the library that are used in all rounds together.
fn own_directories(job: &Job<'_>) -> Result<Vec<PathBuf>> {
    let all = job.fixture.listing.directories.iter();
    let right_below = all.filter(|path| path.parent() == Some(&job.fixture.tree));
    let count = job.rounds * TAKE_DIRECTORY;
    let taken: Vec<PathBuf> = right_below.take(count).cloned().collect();
    ensure!(
        taken.len() == count,
        "the library has too few directories for so many rounds"
    );
    Ok(taken)
}
