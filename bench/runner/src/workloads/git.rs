//! git on a repository of many files: an operation is a run of git.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Act, Job, Workload};
use crate::program::{command, lacks, output};
use crate::random::Random;
use crate::samples::Samples;

/// The number of files in each directory. A file has 14 KiB, so that 4,600 have 63 MiB.
const FILES_A_DIRECTORY: usize = 7;
const FILE_BYTES: usize = 14 << 10;
/// Every file of this step is different in the second commit.
const CHANGED_STEP: usize = 10;
const READS: usize = 32;
const READ_BYTES: usize = 4 << 10;
const APPENDS: usize = 4;

pub(super) static WORKLOADS: [Workload; 7] = [
    git_workload("git_init_commit", init_commit),
    git_workload("git_clone", clone),
    git_workload("git_checkout", checkout),
    git_workload("git_status", |job| {
        in_repository(job, &["status", "--short"])
    }),
    git_workload("git_grep", |job| {
        in_repository(job, &["grep", "-c", "word-7"])
    }),
    git_workload("git_edits_fsync", edits),
    git_workload("git_diff", |job| in_repository(job, &["diff", "--stat"])),
];

const fn git_workload(
    name: &'static str,
    prepare: for<'a> fn(&'a Job<'a>) -> Result<Act<'a>>,
) -> Workload {
    Workload {
        lacks: || lacks("git"),
        ..Workload::writing(name, prepare)
    }
}

fn init_commit<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let repository = job.fixture.made("repository");
    write_files(job, &repository)?;
    Ok(Box::new(move |samples| {
        commit_all(&repository, samples);
        Ok(())
    }))
}

fn clone<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let from = repository(job)?;
    let to = job.fixture.made("clone");
    Ok(Box::new(move |samples| {
        samples.operation(|| {
            output(
                command("git", &from)
                    .args(["clone", "--quiet", "--no-hardlinks"])
                    .args([&from, &to]),
            )
        });
        Ok(())
    }))
}

/// Checks out the previous commit, and then the last one again.
fn checkout<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let repository = repository(job)?;
    output(&mut git(
        &repository,
        &["checkout", "--quiet", "--force", "work"],
    ))?;
    Ok(Box::new(move |samples| {
        for commit in ["work~1", "work"] {
            samples.operation(|| output(&mut git(&repository, &["checkout", "--quiet", commit])));
        }
        Ok(())
    }))
}

fn in_repository<'a>(job: &'a Job<'a>, words: &'static [&'static str]) -> Result<Act<'a>> {
    let repository = repository(job)?;
    Ok(Box::new(move |samples| {
        samples.operation(|| output(&mut git(&repository, words)));
        Ok(())
    }))
}

/// Reads 4 KiB from files all over the repository, then appends lines and syncs them.
fn edits<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let repository = repository(job)?;
    let mut random = Random::named("edits");
    let mut any = move || path_of(&repository, random.below(job.sizes.repository_files));
    let read: Vec<PathBuf> = (0..READS).map(|_| any()).collect();
    let appended: Vec<PathBuf> = (0..APPENDS).map(|_| any()).collect();
    Ok(Box::new(move |samples| {
        for path in &read {
            samples.operation(|| {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start((FILE_BYTES / 2) as u64))?;
                file.read_exact(&mut [0; READ_BYTES])
            });
        }
        for path in &appended {
            samples.operation(|| {
                let mut file = File::options().append(true).open(path)?;
                file.write_all(b"one more line\n")?;
                file.sync_all()
            });
        }
        Ok(())
    }))
}

/// Returns the repository of two commits that stays for all rounds.
fn repository(job: &Job<'_>) -> Result<PathBuf> {
    let repository = job.fixture.kept("repository");
    if !repository.join(".git/whole").exists() {
        write_files(job, &repository)?;
        commit_all(&repository, &mut Samples::default());
        for number in (0..job.sizes.repository_files).step_by(CHANGED_STEP) {
            fs::write(path_of(&repository, number), text(number, "changed"))?;
        }
        output(&mut git(
            &repository,
            &["commit", "--quiet", "--all", "--message", "second"],
        ))?;
        fs::write(repository.join(".git/whole"), "")?;
    }
    Ok(repository)
}

fn write_files(job: &Job<'_>, repository: &Path) -> Result<()> {
    for number in 0..job.sizes.repository_files {
        let path = path_of(repository, number);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(path, text(number, "first"))?;
    }
    Ok(())
}

fn commit_all(repository: &Path, samples: &mut Samples) {
    let steps: [&[&str]; 3] = [
        &["init", "--quiet", "--initial-branch=work"],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "first"],
    ];
    for step in steps {
        samples.operation(|| output(&mut git(repository, step)));
    }
}

fn git(repository: &Path, words: &[&str]) -> std::process::Command {
    let mut git = command("git", repository);
    git.arg("-C")
        .arg(repository)
        .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
        .args(["-c", "gc.auto=0", "-c", "safe.directory=*"])
        .args(words);
    git
}

fn path_of(repository: &Path, number: usize) -> PathBuf {
    let directory = number / FILES_A_DIRECTORY;
    repository.join(format!(
        "{}/{}/{number}.txt",
        directory % 26,
        directory / 26
    ))
}

/// Returns lines of words that differ in every file.
fn text(number: usize, word: &str) -> String {
    let mut random = Random::named(&format!("{number}-{word}"));
    let mut text = format!("{word}\n");
    while text.len() < FILE_BYTES {
        text.push_str(&format!(
            "word-{} {:x}\n",
            random.below(10_000),
            random.next()
        ));
    }
    text
}
