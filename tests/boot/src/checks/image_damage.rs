//! Bytes of an image that change on the host while a machine runs.

use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_support::{TestEnv, describe, expect_code};

use super::durability::remove;
use super::snapshots::told;

const NAME: &str = "checks-image-damage";
const IMAGE: &str = "localhost/checks-image-damage:1";
/// Numbers, so that no two blocks are equal: 1.3 MB, in a layer that no other image has.
const WRITE: &str = "seq 1 200000 > /numbers; sync";
/// Reads the numbers from the disk. The shell ends with the status of `cat`.
const READ: &str = "echo 3 > /proc/sys/vm/drop_caches; cat /numbers";
/// A line in the middle of the numbers.
const LINE: &[u8] = b"\n123456\n";
/// Length of a block that is verified, in bytes.
const BLOCK_BYTES: u64 = 4096;

/// Checks that a changed byte is an error of the guest's own read, which the machine's log names, and that the guest
/// never sees it; also after a start with it.
pub(super) fn never_seen(env: &TestEnv) -> Result<()> {
    let start = |image: &str| {
        let line = || {
            let _ = remove(env, NAME);
            let mut line = env.machine_command("run");
            line.args(["-d", "--name", NAME, "--network", "none", "--pull", "never"]);
            line.args(["--memory", &format!("{}M", env.memory_mib())]);
            line.args([image, "sleep", "600"]);
            line
        };
        expect_code(&env.retried(line, &[])?, 0)
    };
    start(env.image())?;
    told(env, &["exec", NAME, "sh", "-c", WRITE])?;
    told(env, &["commit", NAME, IMAGE])?;
    end(env)?;

    start(IMAGE)?;
    let numbers = read(env)?;
    expect_code(&numbers, 0)?;
    let line = Line::find(env)?;
    line.flip()?;
    refused(env, &numbers.stdout, &line)?;
    end(env)?;
    // A start reads no content.
    start(IMAGE)?;
    refused(env, &numbers.stdout, &line)?;
    line.flip()?;
    let mended = read(env)?;
    expect_code(&mended, 0)?;
    ensure!(
        mended.stdout == numbers.stdout,
        "the layer is as it was, and its bytes are not"
    );
    end(env)?;
    told(env, &["image", "rm", IMAGE]).map(drop)
}

/// A byte of the numbers in their layer.
struct Line {
    layer: PathBuf,
    offset_bytes: u64,
}

impl Line {
    fn find(env: &TestEnv) -> Result<Self> {
        let layers = env.home_msb().inspect(IMAGE)?.layers;
        let layer = layers.last().context("no layer")?.clone();
        let bytes = fs::read(&layer)?;
        let mut windows = bytes.windows(LINE.len());
        let at = windows.position(|window| window == LINE);
        let at = at.context("the layer does not have the numbers")?;
        Ok(Self {
            layer,
            offset_bytes: u64::try_from(at)? + 1,
        })
    }

    /// Flips a bit of the byte.
    fn flip(&self) -> Result<()> {
        let mut to_change = fs::OpenOptions::new();
        let file = to_change.read(true).write(true).open(&self.layer)?;
        let mut byte = [0];
        file.file().read_exact_at(&mut byte, self.offset_bytes)?;
        byte[0] ^= 1;
        Ok(file.file().write_all_at(&byte, self.offset_bytes)?)
    }
}

/// Reads the numbers, twice as they are on the disk, and checks that only the changed block fails, and is logged once.
fn refused(env: &TestEnv, numbers: &[u8], line: &Line) -> Result<()> {
    for _ in 0..2 {
        let output = read(env)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            !output.status.success() && said.contains("Input/output error"),
            "the changed block was read: {said}"
        );
        ensure!(
            numbers.starts_with(&output.stdout) && output.stdout.len() < numbers.len(),
            "wrong bytes were read"
        );
    }
    let log = told(env, &["logs", "--source", "machine", NAME])?;
    let block = line.offset_bytes / BLOCK_BYTES * BLOCK_BYTES;
    let reason = format!(
        "{} is corrupt: the block at byte {block} is not the one that was written",
        line.layer.display()
    );
    ensure!(log.matches(&reason).count() == 1, "{reason}: {log}");
    Ok(())
}

fn read(env: &TestEnv) -> Result<Output> {
    let output = env.msb().args(["exec", NAME, "sh", "-c", READ]).output()?;
    ensure!(output.status.code().is_some(), "{}", describe(&output));
    Ok(output)
}

fn end(env: &TestEnv) -> Result<()> {
    told(env, &["stop", "-t", "0", NAME])?;
    remove(env, NAME)
}
