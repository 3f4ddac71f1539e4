use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use fs_err::File;
use tar::Archive;

use super::disks::Disks;

/// The init script's text in place of an exit code if the command exceeded its time limit.
const TIMED_OUT: &str = "timeout";

/// Bytes of the job's streams that an error shows.
const TAIL_BYTES: usize = 4096;

/// The result of a job.
#[derive(Debug)]
pub struct Outcome {
    /// The command's exit code; 128 and the signal's number if one killed it.
    pub code: i32,
    /// All bytes of its standard output.
    pub stdout: Vec<u8>,
    /// All bytes of its standard error.
    pub stderr: Vec<u8>,
    /// A directory with the job's files from `/job/out`. The caller may remove it.
    pub out: PathBuf,
    /// Number of outer guests that were started until one began the job.
    pub outer_starts: u32,
}

/// Unpacks the output disk in `run`.
pub(super) fn read(disks: &Disks, run: &Path, outer_starts: u32) -> Result<Outcome> {
    let unpacked = run.join("output");
    if unpacked.exists() {
        fs_err::remove_dir_all(&unpacked)?;
    }
    let mut archive = Archive::new(File::open(&disks.output)?);
    archive.set_preserve_permissions(true);
    archive
        .unpack(&unpacked)
        .context("the outer guest left no readable output")?;

    let lab = unpacked.join("lab");
    let code = fs_err::read_to_string(lab.join("exit-code")).with_context(|| {
        format!(
            "the outer guest died in the job; see the consoles in {}",
            run.display()
        )
    })?;
    let stdout = fs_err::read(lab.join("stdout"))?;
    let stderr = fs_err::read(lab.join("stderr"))?;
    if code.trim_end() == TIMED_OUT {
        bail!(
            "the job ran out of time\nstdout: {}\nstderr: {}",
            tail(&stdout),
            tail(&stderr)
        );
    }
    let code = code
        .trim_end()
        .parse()
        .with_context(|| format!("exit code {code:?}"))?;
    Ok(Outcome {
        code,
        stdout,
        stderr,
        out: unpacked.join("job/out"),
        outer_starts,
    })
}

fn tail(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..])
}
