//! The host's disk below a machine that runs: full, or broken.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use test_support::{TestEnv, describe, expect_code, succeed, upper_disk};

use super::durability::{check_upper, kill_machine, remove};

/// One that meets the error first, and one that has done nothing wrong.
const FIRST: &str = "checks-disks-first";
const SECOND: &str = "checks-disks-second";

/// More than the host's disk has, to be written at once.
const FILL: &str = "dd if=/dev/zero of=/fill bs=1M count=100 conv=fsync";
/// Some bytes beside what is kept.
const MORE: &str = "dd if=/dev/zero of=/more bs=1M count=3 conv=fsync";
/// The errors of a write to a disk that fails: of the data itself, and of everything after the guest's
/// ext4 could not write its journal, which it does every five seconds.
const REFUSALS: [&str; 2] = ["Input/output error", "Read-only file system"];
const KEEP: &str = "echo kept > /root/kept; sync";

/// The time that `msb stop -t 1` may take. It has no reason to wait for a disk.
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// A host's disk that is full: who writes is told, the others go on, and with room again all go on from what
/// they had synced.
pub(super) fn full(env: &TestEnv) -> Result<()> {
    let disk = HostDisk::in_memory(env, "64m")?;
    start_both(env)?;
    first_is_told(env, "is full")?;
    second_is_told(env, "is full")?;
    stop(env, FIRST)?;
    stop(env, SECOND)?;
    disk.remount("size=1g")?;
    mended(env)
}

/// A host's disk that has errors, which its kernel lets nobody write to any more, or nobody use at all.
pub(super) fn broken(env: &TestEnv) -> Result<()> {
    let disk = HostDisk::read_ext4(env)?;
    start_both(env)?;
    let spec = directory(env, FIRST)?.join("sandbox.json");
    disk.fail()?;
    if fs::read(&spec).is_ok() {
        first_is_told(env, "the disk itself")?;
        second_is_told(env, "the disk itself")?;
        stop(env, FIRST)?;
        stop(env, SECOND)?;
    } else {
        let listed = msb(env, &["ps"])?;
        ensure!(
            String::from_utf8_lossy(&listed.stderr).contains("Input/output error"),
            "sandboxes that cannot be read are not there: {}",
            describe(&listed)
        );
        kill_machine(&disk.directory)?;
    }
    disk.mend()?;
    mended(env)
}

/// A quota of the host's below one sandbox, as far as its disk hears of it: put into the calls of the process that
/// serves it.
pub(super) fn quota(env: &TestEnv) -> Result<()> {
    start_both(env)?;
    let pattern = format!("__vmm.*{}", directory(env, FIRST)?.display());
    let found = Command::new("pgrep")
        .args(["-o", "-f"])
        .arg(pattern)
        .output()?;
    let pid = String::from_utf8(found.stdout)?;
    let mut strace = Command::new("strace")
        .args(["-qq", "-f", "-o", "/dev/null", "-p", pid.trim()])
        .args(["-e", "trace=pwrite64,pwritev"])
        .args(["-e", "inject=pwrite64,pwritev:error=EDQUOT"])
        .spawn()
        .context("cannot run strace")?;
    let told = first_is_told(env, "a quota or the disk itself");
    let wrote = sh(env, SECOND, MORE).and_then(|output| expect_code(&output, 0));
    let stopped = stop(env, FIRST).and_then(|()| stop(env, SECOND));
    // It goes with the process that it looks at.
    strace.wait()?;
    told.and(wrote).and(stopped)?;
    mended(env)
}

fn start_both(env: &TestEnv) -> Result<()> {
    start(env, FIRST)?;
    start(env, SECOND)?;
    for name in [FIRST, SECOND] {
        expect_code(&sh(env, name, KEEP)?, 0)?;
    }
    Ok(())
}

/// The first writes, is told, and goes on; so does the second, whose disk has not failed.
fn first_is_told(env: &TestEnv, reason: &str) -> Result<()> {
    let filled = sh(env, FIRST, FILL)?;
    let said = String::from_utf8_lossy(&filled.stderr);
    ensure!(
        !filled.status.success()
            && REFUSALS.iter().any(|refusal| said.contains(refusal))
            && said.contains("cannot write to its writable disk")
            && said.contains(reason),
        "the first was not told: {}",
        describe(&filled)
    );
    ensure!(
        disk_errors(env, FIRST)?.contains(reason) && disk_errors(env, SECOND)?.is_empty(),
        "ps does not say whose disk failed"
    );
    let listed = msb(env, &["ps"])?;
    ensure!(
        String::from_utf8_lossy(&listed.stdout).contains("(disk errors)"),
        "{}",
        describe(&listed)
    );
    // Commands run in both. A file of the failed disk can be read or not, but never wrongly.
    expect_code(&sh(env, FIRST, "true")?, 0)?;
    let kept = sh(env, FIRST, "cat /root/kept")?;
    let is_unreadable = String::from_utf8_lossy(&kept.stderr).contains("Input/output error");
    ensure!(
        kept.stdout == b"kept\n" || (kept.stdout.is_empty() && is_unreadable),
        "{FIRST}: {}",
        describe(&kept)
    );
    let kept = sh(env, SECOND, "cat /root/kept")?;
    ensure!(kept.stdout == b"kept\n", "{SECOND}: {}", describe(&kept));
    Ok(())
}

/// The second has the same disk, and hears of it when it writes.
fn second_is_told(env: &TestEnv, reason: &str) -> Result<()> {
    let own = sh(env, SECOND, MORE)?;
    ensure!(
        !own.status.success() && String::from_utf8_lossy(&own.stderr).contains(reason),
        "the second was not told: {}",
        describe(&own)
    );
    Ok(())
}

/// Both start, have what they had synced, and can write; their disks need no mending after that.
fn mended(env: &TestEnv) -> Result<()> {
    for name in [FIRST, SECOND] {
        let line = || {
            let mut line = env.machine_command("start");
            line.arg(name);
            line
        };
        expect_code(&env.retried(line, &[])?, 0)?;
        let script = format!("cat /root/kept && {MORE} && rm /more");
        let wrote = sh(env, name, &script)?;
        expect_code(&wrote, 0)?;
        ensure!(wrote.stdout == b"kept\n", "{}", describe(&wrote));
        ensure!(disk_errors(env, name)?.is_empty(), "{name} has old errors");
        stop(env, name)?;
        check_upper(&upper_disk::only_file(&directory(env, name)?)?)?;
        remove(env, name)?;
    }
    Ok(())
}

fn start(env: &TestEnv, name: &str) -> Result<()> {
    let line = || {
        let _ = remove(env, name);
        let options = ["-d", "--name", name, "--network", "none"];
        env.run_command(&options, &["sleep", "600"])
    };
    expect_code(&env.retried(line, &[])?, 0)
}

fn stop(env: &TestEnv, name: &str) -> Result<()> {
    let began = Instant::now();
    expect_code(&msb(env, &["stop", "-t", "1", name])?, 0)?;
    let took = began.elapsed();
    ensure!(took < STOP_LIMIT, "{name} took {took:?} to stop");
    Ok(())
}

fn sh(env: &TestEnv, name: &str, script: &str) -> Result<Output> {
    msb(
        env,
        &["exec", "--timeout", "120s", name, "sh", "-c", script],
    )
}

/// Returns the errors of a sandbox's disks in `msb ps`.
fn disk_errors(env: &TestEnv, name: &str) -> Result<String> {
    Ok(listed(env, name)?["disk_errors"]
        .as_array()
        .map(|errors| errors.iter().map(|error| format!("{error}\n")).collect())
        .unwrap_or_default())
}

/// Returns the directory of a sandbox.
pub(super) fn directory(env: &TestEnv, name: &str) -> Result<PathBuf> {
    let id = listed(env, name)?["id"].clone();
    Ok(sandboxes(env).join(id.as_str().context("no id")?))
}

fn listed(env: &TestEnv, name: &str) -> Result<serde_json::Value> {
    let output = msb(env, &["ls", "--format", "json"])?;
    let rows: serde_json::Value =
        serde_json::from_slice(&output.stdout).with_context(|| describe(&output))?;
    let mut rows = rows.as_array().context("no array of sandboxes")?.iter();
    let row = rows.find(|row| row["name"] == name);
    row.cloned()
        .with_context(|| format!("{name} is not listed"))
}

fn msb(env: &TestEnv, arguments: &[&str]) -> Result<Output> {
    Ok(env.msb().args(arguments).output()?)
}

fn sandboxes(env: &TestEnv) -> PathBuf {
    env.home().join("sandboxes")
}

/// A disk of the host's that has all sandboxes, until this is dropped.
struct HostDisk {
    directory: PathBuf,
    /// The file that holds it, where it is not memory.
    image: Option<PathBuf>,
}

impl HostDisk {
    fn in_memory(env: &TestEnv, size: &str) -> Result<Self> {
        let disk = Self {
            directory: sandboxes(env),
            image: None,
        };
        fs::create_dir_all(&disk.directory)?;
        let mut mount = Command::new("mount");
        mount.args([
            "-t",
            "tmpfs",
            "-o",
            &format!("size={size},mode=700"),
            "tmpfs",
        ]);
        succeed(mount.arg(&disk.directory))?;
        Ok(disk)
    }

    fn read_ext4(env: &TestEnv) -> Result<Self> {
        let name = format!("msb-checks-{}.ext4", std::process::id());
        let image = std::env::temp_dir().join(name);
        fs::File::create(&image)?.set_len(256 << 20)?;
        succeed(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image))?;
        let disk = Self {
            directory: sandboxes(env),
            image: Some(image),
        };
        fs::create_dir_all(&disk.directory)?;
        disk.mount()?;
        fs::remove_dir(disk.directory.join("lost+found"))?;
        Ok(disk)
    }

    fn mount(&self) -> Result<()> {
        let image = self.image.as_ref().context("it is in memory")?;
        let mut mount = Command::new("mount");
        mount.args(["-o", "loop,errors=remount-ro"]).arg(image);
        succeed(mount.arg(&self.directory)).map(drop)
    }

    fn remount(&self, options: &str) -> Result<()> {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{options}")]);
        succeed(mount.arg(&self.directory)).map(drop)
    }

    /// Has the host's kernel find an error in the filesystem (Documentation/ABI/testing/sysfs-fs-ext4).
    fn fail(&self) -> Result<()> {
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let directory = self.directory.display().to_string();
        let device = mounts.lines().rev().find_map(|line| {
            let mut words = line.split(' ');
            let device = words.next()?.strip_prefix("/dev/")?;
            (words.next()? == directory).then(|| device.to_owned())
        });
        let device = device.context("the disk is not mounted")?;
        fs::write(format!("/sys/fs/ext4/{device}/trigger_fs_error"), "1")?;
        // EROFS or, with kernels that only stop the journal, EIO.
        let refused = fs::write(self.directory.join("probe"), "");
        ensure!(refused.is_err(), "the disk still takes files");
        Ok(())
    }

    /// Checks the filesystem and mounts it again.
    fn mend(&self) -> Result<()> {
        self.unmount()?;
        let image = self.image.as_ref().context("it is in memory")?;
        let checked = Command::new("e2fsck").arg("-fy").arg(image).output()?;
        // What it has mended is no failure of it.
        ensure!(matches!(checked.status.code(), Some(0 | 1)), "{checked:?}");
        self.mount()
    }

    fn unmount(&self) -> Result<()> {
        // A process that is just ending may still have a file open.
        for _ in 0..1200 {
            let unmounted = Command::new("umount").arg(&self.directory).output()?;
            if unmounted.status.success() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("{} cannot be unmounted", self.directory.display())
    }
}

impl Drop for HostDisk {
    fn drop(&mut self) {
        let mut umount = Command::new("umount");
        let _ = umount.arg("--lazy").arg(&self.directory).status();
        if let Some(image) = &self.image {
            let _ = fs::remove_file(image);
        }
    }
}
