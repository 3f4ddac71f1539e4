use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::durability::{check_upper, remove};
use test_support::{TestEnv, describe, expect_code, upper_disk};

const NAME: &str = "checks-resources";
const VOLUME: &str = "checks-resources-volume";
const MIB: u64 = 1 << 20;
/// Size of a file that is written, then removed.
const REMOVED_BYTES: u64 = 64 * MIB;

/// Prints the process's limits, then the number of processes it can have beside itself.
const LIMITS: &str = "
import os, resource as r, time
print(r.getrlimit(r.RLIMIT_NOFILE), r.getrlimit(r.RLIMIT_CORE))
print([os.statvfs(p).f_blocks * os.statvfs(p).f_frsize for p in ('/dev/shm', '/tmp')])
count = 0
try:
    while count < 100:
        if os.fork() == 0:
            time.sleep(600)
        count += 1
except BlockingIOError:
    pass
print(count)
";
const LIMITED: &str = "(123, 456) (0, 0)\n[8388608, 16777216]\n39\n";
/// Waits, and ends by one signal alone. It starts no programs: each makes an emulator keep more
/// translated code in memory.
const WAITING: &str = "sleep infinity & trap 'echo asked; exit 7' USR1; trap '' TERM; ulimit -Sn; \
    echo up; while :; do wait; done";
/// Memory that a guest fills and frees again, in MiB.
const FILLED_MIB: u64 = 150;
/// The time within which the memory must be returned. The guest's kernel checks every two seconds.
const RETURN_LIMIT: Duration = Duration::from_secs(60);

/// Checks limits of commands, of their number, and of filesystems in memory.
pub(super) fn limits(env: &TestEnv) -> Result<()> {
    let options = [
        "--ulimit",
        "nofile=123:456",
        "--ulimit",
        "core=0",
        "--pids-limit",
        "40",
        "--shm-size",
        "8M",
        "--tmp-size",
        "16M",
    ];
    let output = env.run(&options, &["python3", "-c", LIMITS])?;
    expect_code(&output, 0)?;
    ensure!(output.stdout == LIMITED.as_bytes(), "{}", describe(&output));
    for option in [
        "--ulimit=files=1",
        "--ulimit=nofile=2:1",
        "--pids-limit=none",
    ] {
        let refused = env.run(&[option], &["true"])?;
        ensure!(
            !refused.status.success(),
            "{option}: {}",
            describe(&refused)
        );
    }
    let refused = env.run(&["--ulimit", "nofile=-1"], &["true"])?;
    ensure!(
        describe(&refused).contains("the guest's kernel allows"),
        "{}",
        describe(&refused)
    );
    Ok(())
}

/// Checks that use is shown, freed memory is returned, and a sandbox's own signal ends it.
pub(super) fn living(env: &TestEnv) -> Result<()> {
    start_waiting(env)?;
    let sandbox = stats(env)?;
    let guest = &sandbox["guest"];
    for field in [
        "processor_busy_us",
        "memory_total_bytes",
        "disk_read_bytes",
        "tasks",
    ] {
        ensure!(guest[field].as_u64() > Some(0), "{field}: {sandbox}");
    }
    ensure!(sandbox["host"]["processes"].as_u64() > Some(0), "{sandbox}");
    ensure!(
        sandbox["upper_allocated_bytes"].as_u64() > Some(0),
        "{sandbox}"
    );
    let table = msb(env, &["stats", "--no-stream", NAME])?;
    ensure!(
        table.contains("MEM USAGE / LIMIT") && table.contains(NAME),
        "{table}"
    );
    ensure!(
        exec(env, "ulimit -Sn")? == "99\n",
        "a limit is not inherited"
    );
    memory_comes_back(env)?;
    for source in ["console", "machine"] {
        msb(env, &["logs", "--source", source, "--tail", "5", NAME])?;
    }
    msb(env, &["stop", NAME])?;
    let waited = env.msb().args(["wait", NAME]).output()?;
    expect_code(&waited, 7)?;
    let printed = msb(env, &["logs", NAME])?;
    ensure!(printed == "99\nup\nasked\n", "{printed}");
    remove(env, NAME)
}

/// Checks that a writable disk grows at the next start and loses no data.
pub(super) fn growth(env: &TestEnv) -> Result<()> {
    let script = "test -e /root/kept || seq 1000 > /root/kept; sha256sum < /root/kept; \
        stat -f -c %b /; sync";
    let line = || {
        let _ = remove(env, NAME);
        let options = ["--name", NAME, "--upper-size", "40M"];
        env.run_command(&options, &["sh", "-c", script])
    };
    let first = env.retried(line, &[])?;
    let (kept, blocks_before) = kept_and_blocks(&first)?;
    let mut sizes = vec![blocks_before];
    for size in ["200M", "3G"] {
        msb(env, &["update", "--upper-size", size, NAME])?;
        let line = || {
            let mut line = env.machine_command("start");
            line.args(["--attach", NAME]);
            line
        };
        let output = env.retried(line, &[])?;
        let (kept_now, blocks) = kept_and_blocks(&output)?;
        ensure!(kept_now == kept, "{}", describe(&output));
        sizes.push(blocks);
        check_upper(&upper(env)?)?;
    }
    let at_least = [20, 150, 2800].map(|mib| mib * MIB / 4096);
    let is_enough = sizes
        .iter()
        .zip(at_least)
        .all(|(size, least)| *size > least);
    ensure!(is_enough && sizes[0] < 40 * MIB / 4096, "{sizes:?}");
    let shrunk = env
        .msb()
        .args(["update", "--upper-size", "1G", NAME])
        .output()?;
    expect_code(&shrunk, 125)?;
    ensure!(
        describe(&shrunk).contains("cannot shrink"),
        "{}",
        describe(&shrunk)
    );
    remove(env, NAME)
}

/// Checks that removed data is freed from the files of the upper disk and a volume after a stop.
pub(super) fn shrinking(env: &TestEnv) -> Result<()> {
    let script = format!(
        "for f in /root/big /data/big; do \
         if test -e $f; then rm $f; else head -c {REMOVED_BYTES} /dev/urandom > $f; fi; done"
    );
    let mount = format!("{VOLUME}:/data");
    let line = || {
        let _ = remove(env, NAME);
        let _ = msb(env, &["volume", "rm", "-f", VOLUME]);
        env.run_command(&["--name", NAME, "-v", &mount], &["sh", "-c", &script])
    };
    expect_code(&env.retried(line, &[])?, 0)?;
    let filled = allocated_bytes(env)?;
    let again = || {
        let mut line = env.machine_command("start");
        line.args(["--attach", NAME]);
        line
    };
    expect_code(&env.retried(again, &[])?, 0)?;
    for (filled_bytes, emptied_bytes) in filled.into_iter().zip(allocated_bytes(env)?) {
        ensure!(filled_bytes > REMOVED_BYTES, "{filled_bytes} bytes");
        ensure!(
            emptied_bytes + REMOVED_BYTES * 9 / 10 < filled_bytes,
            "of {filled_bytes} bytes {emptied_bytes} stayed"
        );
    }
    check_upper(&upper(env)?)?;
    remove(env, NAME)?;
    msb(env, &["volume", "rm", VOLUME]).map(drop)
}

/// Returns the allocated bytes of the upper disk and of the volume.
fn allocated_bytes(env: &TestEnv) -> Result<[u64; 2]> {
    let upper_bytes = std::fs::metadata(upper(env)?)?.blocks() * 512;
    let said = msb(env, &["volume", "inspect", VOLUME])?;
    let volume: Value = serde_json::from_str(&said)?;
    let volume_bytes = volume[0]["allocated_bytes"].as_u64();
    Ok([upper_bytes, volume_bytes.context("no allocated bytes")?])
}

fn upper(env: &TestEnv) -> Result<PathBuf> {
    let inspected: Value = serde_json::from_str(&msb(env, &["inspect", NAME])?)?;
    let directory = inspected[0]["directory"].as_str().context("no directory")?;
    upper_disk::only_file(Path::new(directory))
}

fn kept_and_blocks(output: &std::process::Output) -> Result<(String, u64)> {
    expect_code(output, 0)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (kept, blocks) = text.trim_end().split_once('\n').context("no two lines")?;
    Ok((kept.to_owned(), blocks.parse()?))
}

fn start_waiting(env: &TestEnv) -> Result<()> {
    let line = || {
        let _ = remove(env, NAME);
        let options = [
            "-d",
            "--name",
            NAME,
            "--stop-signal",
            "USR1",
            "--ulimit",
            "nofile=99",
        ];
        env.run_command(&options, &["bash", "-c", WAITING])
    };
    expect_code(&env.retried(line, &[])?, 0)
}

fn memory_comes_back(env: &TestEnv) -> Result<()> {
    let filled_mib = FILLED_MIB.min(u64::from(env.memory_mib()) / 3);
    let before = host_memory_bytes(env)?;
    exec(
        env,
        &format!("head -c {filled_mib}M /dev/zero > /dev/shm/filled"),
    )?;
    let full = host_memory_bytes(env)?;
    let grown = full.saturating_sub(before);
    ensure!(
        grown > filled_mib * MIB / 2,
        "filling took only {grown} bytes of the host"
    );
    exec(env, "rm /dev/shm/filled")?;
    let deadline = Instant::now() + RETURN_LIMIT;
    while host_memory_bytes(env)? > full - grown / 2 {
        if Instant::now() > deadline {
            bail!("{full} bytes of the host's memory do not come back");
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(())
}

fn host_memory_bytes(env: &TestEnv) -> Result<u64> {
    let sandbox = stats(env)?;
    let bytes = sandbox["host"]["memory_bytes"].as_u64();
    bytes.with_context(|| format!("no memory in {sandbox}"))
}

/// Returns the statistics of the sandbox from `msb stats`.
fn stats(env: &TestEnv) -> Result<Value> {
    let text = msb(env, &["stats", "--no-stream", "--format", "json", NAME])?;
    let mut all: Value = serde_json::from_str(&text)?;
    Ok(all[0].take())
}

fn exec(env: &TestEnv, script: &str) -> Result<String> {
    msb(env, &["exec", NAME, "sh", "-c", script])
}

/// Returns the output of an msb command, which must exit with 0.
fn msb(env: &TestEnv, words: &[&str]) -> Result<String> {
    let output = env.msb().args(words).output()?;
    expect_code(&output, 0).with_context(|| format!("msb {}", words.join(" ")))?;
    Ok(String::from_utf8(output.stdout)?)
}
