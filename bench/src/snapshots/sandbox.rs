//! The sandbox that is measured, and the removal of what was made of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use generations::{FileStorage, Pool};

use crate::fs::RUNNER;
use crate::growth::image::Shape;
use crate::msb::Msb;

/// The sandbox that is kept, and the beginning of the names of its forks.
pub(super) const NAME: &str = "bench";
pub(super) const FORK: &str = "fork";
/// The snapshot that is gone back to.
pub(super) const FIRST: &str = "bench@first";
/// The path of the program in the guest, which needs no other file.
pub(super) const RUNNER_PATH: &str = "/runner";

/// Makes a stopped sandbox with files on its writable disk. Returns its directory.
pub(super) fn make_sandbox(msb: &Msb, home: &Path, work: &Path, mib: u32) -> Result<PathBuf> {
    let layout = work.join("layout");
    Shape::spread(1, 1_000).write(&layout)?;
    let image = "bench/image:latest";
    msb.output(["load", "--quiet", "--tag", image, &layout.to_string_lossy()])?;
    let file = work.join("file");
    fs::write(&file, random_bytes(mib))?;
    let program = work.join("runner");
    fs::write(&program, RUNNER)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let copied = format!("{}:/file", file.display());
    let program = format!("{}:{RUNNER_PATH}", program.display());
    msb.output([
        "create",
        "--no-command",
        "--network",
        "none",
        "--name",
        NAME,
        "--copy",
        &copied,
        "--copy",
        &program,
        image,
    ])?;
    let mut sandboxes = fs::read_dir(home.join("sandboxes"))?;
    Ok(sandboxes.next().context("no sandbox was made")??.path())
}

/// Returns bytes that do not compress, the same ones each time.
pub(super) fn random_bytes(mib: u32) -> Vec<u8> {
    let mut state = 1_u64;
    let bytes = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    });
    bytes.take((mib as usize) << 20).collect()
}

/// Writes a block of the disk, as a guest does that ran meanwhile. Its content stays the same: a guest is
/// to run on the disk.
pub(super) fn change(generations: &Path) -> Result<()> {
    let pool = Pool::new(FileStorage::open(generations)?);
    let id = pool.disks()?.pop().context("the pool has no disk")?;
    let mut disk = pool.open_disk(id)?;
    let middle = disk.size_bytes() / 2 / generations::BLOCK_BYTES * generations::BLOCK_BYTES;
    let mut block = [0; generations::BLOCK_BYTES as usize];
    disk.read(&mut block, middle)?;
    disk.write(&block, middle)?;
    Ok(disk.flush()?)
}

/// Removes what an operation made, but the first snapshot.
pub(super) fn tidy(msb: &Msb) -> Result<()> {
    for line in msb.output(["snapshot", "ls", "-q", NAME])?.lines() {
        if line != FIRST {
            msb.output(["snapshot", "rm", line])?;
        }
    }
    let listed = msb.output(["ls", "--format", "{{.name}}"])?;
    let forks: Vec<&str> = listed
        .lines()
        .filter(|name| name.starts_with(FORK))
        .collect();
    if !forks.is_empty() {
        msb.output([&["rm"], &forks[..]].concat())?;
    }
    Ok(())
}
