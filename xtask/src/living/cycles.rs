use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;

use crate::checks::Bed;

/// What a host has of sandboxes, or what they may have left there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Traces {
    /// Processes that name msb's home.
    processes: usize,
    /// Bound Unix sockets below the home.
    sockets: usize,
    mounts: usize,
    /// Files and directories below the home.
    files: usize,
    /// Files in shared memory.
    shared_files: usize,
    /// System V segments: with the files there, all memory that outlives its process.
    shared_segments: usize,
}

/// Creates, runs and removes a sandbox `count` times. Nothing may be left.
pub(crate) fn run(bed: &Bed, count: u32) -> Result<String> {
    // The first writes what all share, the second finds it at rest and stamps it.
    for _ in 0..2 {
        bed.run(&[], &["true"])?;
    }
    let before = Traces::seen()?;
    for cycle in 0..count {
        let output = bed.run(&[], &["echo", "here"])?;
        ensure!(
            output.stdout == b"here\n",
            "cycle {cycle}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let after = Traces::seen()?;
    ensure!(before == after, "before {before:?}, after {after:?}");
    Ok(format!(
        "{count} sandboxes created, run and removed: nothing left; {after:?}"
    ))
}

impl Traces {
    fn seen() -> Result<Self> {
        let home = PathBuf::from(std::env::var_os("MSB_HOME").context("MSB_HOME is not set")?);
        let sandboxes = home.join("sandboxes").display().to_string();
        Ok(Self {
            processes: processes(&sandboxes)?,
            sockets: lines_with("/proc/net/unix", &sandboxes)?,
            mounts: lines_with("/proc/mounts", "")?,
            files: entries(&home)?,
            shared_files: entries(Path::new("/dev/shm"))?,
            shared_segments: lines_with("/proc/sysvipc/shm", "")?,
        })
    }
}

fn lines_with(path: &str, part: &str) -> Result<usize> {
    let text = fs::read_to_string(path)?;
    Ok(text.lines().filter(|line| line.contains(part)).count())
}

fn processes(part: &str) -> Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir("/proc")? {
        // One that ends meanwhile is none.
        let command_line = fs::read(entry?.path().join("cmdline")).unwrap_or_default();
        count += usize::from(String::from_utf8_lossy(&command_line).contains(part));
    }
    Ok(count)
}

fn entries(directory: &Path) -> Result<usize> {
    let mut count = 0;
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            count += 1;
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    Ok(count)
}
