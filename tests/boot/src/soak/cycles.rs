use std::path::Path;

use anyhow::{Result, ensure};
use fs_err as fs;

use test_support::TestEnv;

/// Traces that sandboxes may have left on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Traces {
    /// Processes that name msb's directory of sandboxes.
    processes: usize,
    /// Bound Unix sockets below that directory.
    sockets: usize,
    mounts: usize,
    /// Files and directories below the home.
    files: usize,
    /// Files in `/dev/shm`.
    shared_files: usize,
    /// System V segments: with the files in `/dev/shm`, all memory that outlives its process.
    shared_segments: usize,
}

/// Creates, runs and removes a sandbox `count` times, and checks that nothing is left.
pub(crate) fn run(env: &TestEnv, count: u32) -> Result<String> {
    // The first run writes the shared files, the second finds them unchanged and stamps them.
    for _ in 0..2 {
        env.run(&[], &["true"])?;
    }
    let before = Traces::seen(env.home())?;
    for cycle in 0..count {
        let output = env.run(&[], &["echo", "here"])?;
        ensure!(
            output.stdout == b"here\n",
            "cycle {cycle}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let after = Traces::seen(env.home())?;
    ensure!(before == after, "before {before:?}, after {after:?}");
    Ok(format!(
        "{count} sandboxes created, run and removed: nothing left; {after:?}"
    ))
}

impl Traces {
    fn seen(home: &Path) -> Result<Self> {
        let sandboxes = home.join("sandboxes").display().to_string();
        Ok(Self {
            processes: processes(&sandboxes)?,
            sockets: lines_with("/proc/net/unix", &sandboxes)?,
            mounts: lines_with("/proc/mounts", "")?,
            files: entries(home)?,
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
        // A process that ended in the meantime does not count.
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
