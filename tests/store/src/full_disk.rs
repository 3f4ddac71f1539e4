use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};

use super::content::Content;
use super::random::Random;
use super::registry::CountingRegistry;
use super::stage::{BEFORE, Stage, expect_refusal, layout};
use super::{expect_whole, told, verify};
use test_support::{TestEnv, succeed};
use testkit::images::{Packing, TestImage, TestLayer, write_directory};

/// The messages of a full disk and of a limit on the length of files.
pub(super) const FULL: &str = "No space left on device";
const TOO_LARGE: &str = "File too large";

/// Runs every stage with `steps` different amounts of free space, and again with enough.
pub(crate) fn fill_disks(env: &TestEnv, steps: u32) -> Result<String> {
    let registry = CountingRegistry::serve(&Content::overlapping())?;
    let stages = [
        Stage::pull(&registry),
        Stage::load(&env.small_image()?),
        Stage::create(),
        Stage::run(),
    ];
    let mut figures = Vec::new();
    for stage in &stages {
        let mut full = 0;
        for step in 0..steps {
            let free_kib = stage.needs_kib * u64::from(step) / u64::from(steps);
            full += u32::from(
                one(env, stage, free_kib)
                    .with_context(|| format!("{} with {free_kib} KiB free", stage.name))?,
            );
        }
        ensure!(full > 0 && full <= steps, "{} was never short", stage.name);
        figures.push(format!("{} {steps} ({full} full)", stage.name));
    }
    let limited = limited_files(env, steps)?;
    Ok(format!(
        "points of {}, load with files limited {steps} ({limited} refused): a clear error each, \
        nothing lost, the same command succeeds with space",
        figures.join(", ")
    ))
}

/// Returns true if the disk was too small.
fn one(env: &TestEnv, stage: &Stage, free_kib: u64) -> Result<bool> {
    let disk = Disk::mount(env.msb_at("full")?.home)?;
    let msb = env.msb_in(disk.directory.clone());
    msb.load(&layout(env), BEFORE)?;
    disk.leave_kib(free_kib)?;
    let run = || -> Result<Output> { Ok(msb.command(&[]).args(&stage.arguments).output()?) };
    let output = run()?;
    let is_full = !stage.went_on(&output);
    if is_full {
        expect_refusal(&output, FULL, &disk.directory)?;
    }
    let damages = verify(&msb).context("on the full disk")?;
    ensure!(damages.is_empty(), "{damages:?}");
    msb.inspect(BEFORE)?;
    disk.resize("1g")?;
    expect_whole(&msb)?;
    let again = run()?;
    ensure!(stage.went_on(&again), "with space again: {}", told(&again));
    expect_whole(&msb)?;
    Ok(is_full)
}

/// Limits the length of files, so that writes fail for another reason than a full disk.
fn limited_files(env: &TestEnv, steps: u32) -> Result<u32> {
    let small = env.small_image()?;
    let mut refused = 0;
    for step in 0..steps {
        let msb = env.msb_at("limited")?;
        let blocks = 1 + step * 600 / steps.max(1) * 16;
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut limited = Command::new("bash");
        limited.args(["-c", &script]).arg(&msb.program);
        limited.env("MSB_HOME", &msb.home);
        limited.args(["load", "-q", "-t", "after:1"]).arg(&small);
        let output = limited.output()?;
        if !output.status.success() {
            expect_refusal(&output, TOO_LARGE, &msb.home)
                .with_context(|| format!("files of {blocks} KiB at most"))?;
            refused += 1;
        }
        expect_whole(&msb)?;
        msb.load(&small, "after:1")?;
        expect_whole(&msb)?;
    }
    Ok(refused)
}

/// Reads a file of a packed layer with `steps` different amounts of free space for the layer's cache file. The host reads a
/// native root as its machine does.
pub(crate) fn fill_caches(env: &TestEnv, steps: u32) -> Result<String> {
    let disk = Disk::mount(env.msb_at("full-cache")?.home)?;
    let msb = env.msb_in(disk.directory.clone());
    let noise = Random::new().bytes(usize::try_from(CACHED_BYTES)?);
    let layer = TestLayer::new(&[("noise", &noise)], Packing::Plain);
    let layout = env.work.join("noise");
    write_directory(&TestImage::new(vec![layer]).layout(Some("latest")), &layout);
    msb.load(&layout, NOISE)?;
    let create = [
        "create",
        "--native-root",
        "--upper-size",
        "64M",
        "--name",
        "reader",
        NOISE,
    ];
    succeed(&mut msb.command(&create))?;
    succeed(&mut msb.command(&["image", "pack", NOISE]))?;
    let cache = msb.inspect(NOISE)?.layers[0].with_extension("cache");
    let read = || -> Result<Vec<u8>> {
        let output = succeed(&mut msb.command(&["fs", "cat", "reader", "/noise"]))?;
        Ok(output.stdout)
    };
    for step in 0..steps {
        disk.resize("1g")?;
        if cache.exists() {
            fs::remove_file(&cache)?;
        }
        let free_kib = CACHED_BYTES / 1024 * u64::from(step) / u64::from(steps);
        disk.leave_kib(free_kib)?;
        let context = || format!("with {free_kib} KiB free");
        ensure!(
            read().with_context(context)? == noise,
            "other bytes, {}",
            context()
        );
    }
    let filled = |cache: &PathBuf| fs::metadata(cache).map_or(0, |file| file.blocks() * 512);
    ensure!(filled(&cache) < CACHED_BYTES, "the disk was never short");
    disk.resize("1g")?;
    ensure!(read()? == noise, "other bytes, with space again");
    ensure!(filled(&cache) >= CACHED_BYTES, "room was not used");
    expect_whole(&msb)?;
    Ok(format!(
        "{steps} reads without room for what they keep: right bytes"
    ))
}

/// The image with a file that does not compress, and the length of the file in bytes.
const NOISE: &str = "noise:1";
const CACHED_BYTES: u64 = 1 << 20;

/// A filesystem in memory that is mounted until this value is dropped.
pub(super) struct Disk {
    directory: PathBuf,
}

impl Disk {
    /// Mounts it with 1 GiB of space.
    pub(super) fn mount(directory: PathBuf) -> Result<Self> {
        fs::create_dir_all(&directory)?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1g", "tmpfs"]);
        succeed(mount.arg(&directory))?;
        Ok(Self { directory })
    }

    /// Changes its size, which mount understands.
    pub(super) fn resize(&self, size: &str) -> Result<()> {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,size={size}")]);
        succeed(mount.arg(&self.directory)).map(drop)
    }

    /// Leaves `free_kib` KiB of free space.
    pub(super) fn leave_kib(&self, free_kib: u64) -> Result<()> {
        let stat = rustix::fs::statvfs(&self.directory)?;
        let used_bytes = (stat.f_blocks - stat.f_bfree) * stat.f_frsize;
        self.resize(&format!("{}k", used_bytes.div_ceil(1024) + free_kib))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let mut umount = Command::new("umount");
        // A process that is ending may still have a file open.
        let _ = umount.arg("--lazy").arg(&self.directory).status();
    }
}
