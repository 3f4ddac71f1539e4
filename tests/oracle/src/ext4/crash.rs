use std::fs::File;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use ext4_writer::Image;

use super::case::{Mount, dump, e2fsck, same};
use super::used::{Worker, sized};
use test_fixtures::command::quiet;

/// Number of snapshots of one disk.
const SNAPSHOTS: u64 = 3;
/// Number of the worker's steps before each snapshot.
const STEPS: u64 = 700;

/// Number of crashes, and of blocks replayed after them.
pub(super) struct Outcome {
    pub(super) crashes: u64,
    pub(super) replayed_blocks: u64,
}

/// Works in a mounted image and copies the file below it right after `syncfs`.
///
/// As after a power cut, committed data is in the journal and not yet in its final block. Nothing
/// writes during the copy, so it shows no commit that was cut short. `e2fsck -p` has to repair the
/// copy, and must find the content that msb's replay read before.
pub(super) fn check(number: u64, work: &Path) -> Result<Outcome> {
    let path = work.join("image");
    let mount_point = work.join("mount");
    sized(number).write(&path)?;
    let options = if number % 3 == 2 {
        "loop,data=journal"
    } else {
        "loop"
    };
    let mount = Mount::new(&path, &mount_point, options)?;
    let mut worker = Worker::new(number, &mount_point)?;
    let copy = |index: u64| work.join(format!("copy-{index}"));
    for index in 0..SNAPSHOTS {
        worker.work(STEPS)?;
        rustix::fs::syncfs(File::open(&mount_point)?)?;
        quiet(
            Command::new("cp")
                .arg("--sparse=always")
                .arg(&path)
                .arg(copy(index)),
        )?;
    }
    mount.unmount()?;
    std::fs::remove_file(&path)?;
    let mut outcome = Outcome {
        crashes: 0,
        replayed_blocks: 0,
    };
    for index in 0..SNAPSHOTS {
        outcome.replayed_blocks += recover(&copy(index))?;
        outcome.crashes += 1;
        std::fs::remove_file(copy(index))?;
    }
    Ok(outcome)
}

/// Returns the number of blocks that the journal held.
fn recover(path: &Path) -> Result<u64> {
    let image = Image::open(File::open(path)?)?;
    let replayed_blocks = image.superblock().journaled_blocks;
    let replayed = dump(&image)?;
    drop(image);
    let preened = Command::new("e2fsck").arg("-p").arg(path).output()?;
    // 1: errors were corrected, which includes a replay.
    ensure!(
        matches!(preened.status.code(), Some(0 | 1)),
        "e2fsck -p: {}",
        String::from_utf8_lossy(&preened.stdout)
    );
    e2fsck(path)?;
    let image = Image::open(File::open(path)?)?;
    ensure!(
        image.superblock().journaled_blocks == 0,
        "the journal is full still"
    );
    same(&dump(&image)?, &replayed)?;
    Ok(replayed_blocks)
}
