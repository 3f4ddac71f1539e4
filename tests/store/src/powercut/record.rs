use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use serde_json::json;

use super::filesystem::Filesystem;
use super::log::{Entry, Log, SECTOR_BYTES};
use super::replay::{Replay, copy_sparse};
use super::sandboxes::{KEPT, kept};
use test_fixtures::{images, paths};
use test_support::lab::{Job, Lab};

/// Size of the filesystem: room for two images twice. The mark's sector lies behind it.
const FILESYSTEM_BYTES: u64 = 320 << 20;
const DISK_BYTES: u64 = FILESYSTEM_BYTES + (1 << 20);

const MEMORY_MIB: u32 = 1024;
const TIMEOUT: Duration = Duration::from_secs(900);

/// The workload's last mark.
const DONE: &str = "done";

/// The files that run in the guest.
const SCRIPTS: [(&str, &str); 3] = [
    ("workload.sh", include_str!("workload.sh")),
    ("registry.py", include_str!("registry.py")),
    ("without_sync.py", include_str!("without_sync.py")),
];

/// The treatment of msb's syncs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syncs {
    /// Syncs reach the disk.
    Kept,
    /// Syncs succeed and do nothing; a replay of this recording must find torn files.
    Dropped,
}

/// The options of a recording.
#[derive(Debug, Clone, Copy)]
pub(super) struct Workload {
    pub(super) filesystem: Filesystem,
    pub(super) syncs: Syncs,
    /// Number of repetitions of the whole workload.
    pub(super) rounds: u32,
}

/// The workload's run on a recorded disk.
#[derive(Debug)]
pub(super) struct Recording {
    /// The disk before the workload.
    pub(super) base: PathBuf,
    /// The writes and flushes of the workload.
    pub(super) log: Log,
}

/// The directory in which a recording is kept.
struct Files {
    directory: PathBuf,
}

impl Files {
    fn new(workload: &Workload) -> Result<Self> {
        let syncs = match workload.syncs {
            Syncs::Kept => "with-sync",
            Syncs::Dropped => "without-sync",
        };
        let name = format!("powercut/{}-{syncs}", workload.filesystem.name());
        Ok(Self {
            directory: paths::kept(&name)?,
        })
    }

    fn base(&self) -> PathBuf {
        self.directory.join("base.img")
    }

    fn disk(&self) -> PathBuf {
        self.directory.join("disk.img")
    }

    fn log(&self) -> PathBuf {
        self.directory.join("writes.log")
    }
}

impl Recording {
    /// Runs the workload in the lab.
    ///
    /// # Errors
    /// If a command fails, or the log does not lead from the disk before to the one after.
    pub(super) fn make(workload: &Workload, msb: &Path) -> Result<Self> {
        let files = Files::new(workload)?;
        make_filesystem(workload.filesystem, &files.base())?;
        copy_sparse(&files.base(), &files.disk())?;
        fs::write(files.log(), [])?;
        let job = job(&files, workload, msb)?;
        let outcome = Lab::prepare()?.run_with(&job, &recorded_disk(&files)?)?;
        ensure!(
            outcome.code == 0,
            "the workload gave {}: {}{}",
            outcome.code,
            String::from_utf8_lossy(&outcome.stdout),
            String::from_utf8_lossy(&outcome.stderr)
        );
        let recording = Self::kept(workload)?;
        recording.check(&files)?;
        Ok(recording)
    }

    /// Opens the last recording that was made.
    ///
    /// # Errors
    /// If it does not exist, or was cut short.
    pub(super) fn kept(workload: &Workload) -> Result<Self> {
        let files = Files::new(workload)?;
        let mut log = Log::open(&files.log(), FILESYSTEM_BYTES)?;
        let done = Entry::Mark(DONE.to_owned());
        let end = log.entries.iter().position(|entry| *entry == done);
        log.entries
            .truncate(end.context("the recording has no end")?);
        Ok(Self {
            base: files.base(),
            log,
        })
    }

    /// Checks that all writes, applied to the disk before, give the disk after.
    fn check(&self, files: &Files) -> Result<()> {
        let mut replay = Replay::begin(&self.log, &self.base, &files.directory)?;
        let replayed = replay.settle(self.log.entries.len())?;
        let (replayed, disk) = (fs::File::open(replayed)?, fs::File::open(files.disk())?);
        let (mut ours, mut theirs) = (vec![0; 1 << 20], vec![0; 1 << 20]);
        for at_bytes in (0..FILESYSTEM_BYTES).step_by(1 << 20) {
            replayed.file().read_exact_at(&mut ours, at_bytes)?;
            disk.file().read_exact_at(&mut theirs, at_bytes)?;
            ensure!(ours == theirs, "the log lacks writes at byte {at_bytes}");
        }
        Ok(())
    }
}

fn make_filesystem(filesystem: Filesystem, base: &Path) -> Result<()> {
    if base.exists() {
        fs::remove_file(base)?;
    }
    fs::File::create(base)?.set_len(DISK_BYTES)?;
    filesystem.make(base, FILESYSTEM_BYTES)
}

fn job(files: &Files, workload: &Workload, msb: &Path) -> Result<Job> {
    let [a, b] = images::pair()?;
    let mut inputs = vec![
        (msb.to_owned(), "msb".to_owned()),
        (a, "a".to_owned()),
        (b, "b".to_owned()),
    ];
    let kept = kept();
    let scripts = SCRIPTS.map(|(name, text)| (name, text.as_bytes()));
    for (name, content) in scripts.into_iter().chain([(KEPT, &kept[..])]) {
        let path = files.directory.join(name);
        fs::write(&path, content)?;
        inputs.push((path, name.to_owned()));
    }
    let mark_sector = (FILESYSTEM_BYTES / SECTOR_BYTES).to_string();
    let keep_syncs = match workload.syncs {
        Syncs::Kept => "yes",
        Syncs::Dropped => "no",
    };
    let command = [
        "sh",
        "workload.sh",
        workload.filesystem.name(),
        &mark_sector,
        keep_syncs,
        &workload.rounds.to_string(),
    ];
    Ok(Job {
        inputs,
        command: command.map(str::to_owned).to_vec(),
        timeout: TIMEOUT,
        memory_mib: MEMORY_MIB,
        nested: false,
    })
}

/// Returns the options of a disk with a volatile cache. Its writes and flushes are logged as they
/// complete. The files behind it need no flushes: this host's power does not fail.
fn recorded_disk(files: &Files) -> Result<Vec<String>> {
    let file = |path: PathBuf| {
        json!({
            "driver": "file",
            "filename": path,
            "cache": { "no-flush": true },
        })
    };
    let node = json!({
        "driver": "blklogwrites",
        "node-name": "store",
        "file": file(files.disk()),
        "log": file(files.log()),
        "log-sector-size": SECTOR_BYTES,
    });
    let device = "virtio-blk-device,drive=store,serial=store,write-cache=on,discard=off";
    Ok(vec![
        "-blockdev".to_owned(),
        serde_json::to_string(&node)?,
        "-device".to_owned(),
        device.to_owned(),
    ])
}
