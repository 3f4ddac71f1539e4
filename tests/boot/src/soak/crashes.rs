use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;

use super::done;
use test_support::{TestEnv, upper_disk};

const NAME: &str = "crashes";
/// Appends numbered lines, prints each once it is synced, and keeps the journal busy.
const WRITER: &str = "
import os, threading
def churn():
    count = 0
    while True:
        count += 1
        name = '/root/churn-%d' % (count % 50)
        with open(name + '.new', 'wb') as file:
            file.write(os.urandom(count % 9000))
        os.rename(name + '.new', name)
        if count % 7 == 0:
            os.unlink(name)
threading.Thread(target=churn, daemon=True).start()
log = os.open('/root/log', os.O_CREAT | os.O_RDWR | os.O_APPEND)
number = os.fstat(log).st_size // 10
while True:
    os.write(log, b'%09d\\n' % number)
    os.fsync(log)
    print(number, flush=True)
    number += 1
";
/// The shortest and longest time before a writer's machine is killed, in milliseconds.
const ALONE_MS: std::ops::Range<u64> = 50..3000;

/// The checks of a disk after a crash, and their good exit codes. Replaying the journal changes the
/// disk (1), and then nothing is left to change.
const E2FSCKS: [(&[&str], &[i32]); 2] =
    [(&["-E", "journal_only", "-y"], &[0, 1]), (&["-fn"], &[0])];

/// Kills a machine with a writing guest `count` times. Each time the disk must need nothing but its
/// journal, and have every line that was printed as synced.
pub(crate) fn run(env: &TestEnv, count: u32) -> Result<String> {
    let _ = env.msb().args(["rm", "-f", NAME]).output()?;
    let memory = format!("{}M", env.memory_mib());
    let create = [
        "create",
        "--pull",
        "never",
        "--cpus",
        "1",
        "--memory",
        &memory,
        "--name",
        NAME,
        "--network",
        "none",
        "--upper-size",
        "256M",
        env.image(),
        "python3",
        "-c",
        WRITER,
    ];
    done(env, &create)?;
    let mut synced = 0;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(count);
    for round in 0..count {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let alone_ms = ALONE_MS.start + (random >> 33) % (ALONE_MS.end - ALONE_MS.start);
        let last = killed_after(env, Duration::from_millis(alone_ms))
            .and_then(|last| judge(env, last).map(|()| last))
            .with_context(|| format!("kill {round}, after {alone_ms} ms"))?;
        synced = last;
    }
    done(env, &["rm", NAME])?;
    Ok(format!(
        "{count} kills of a writing machine, {synced} lines synced: e2fsck replayed the journal and found \
         nothing else, every synced line there"
    ))
}

/// Starts the sandbox, and kills its machine a while after the first line. Returns the last line
/// that was printed as synced.
fn killed_after(env: &TestEnv, alone: Duration) -> Result<u64> {
    let mut start = env.machine_command("start");
    let mut child = start
        .args(["--attach", NAME])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let lines = BufReader::new(child.stdout.take().context("no pipe")?).lines();
    let last = Arc::new(AtomicU64::new(u64::MAX));
    let seen = Arc::clone(&last);
    let reading = std::thread::spawn(move || -> Result<()> {
        for line in lines {
            seen.store(line?.trim().parse()?, Ordering::Release);
        }
        Ok(())
    });
    while last.load(Ordering::Acquire) == u64::MAX {
        ensure!(!reading.is_finished(), "the writer did not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(alone);
    done(env, &["kill", NAME])?;
    let ended = child.wait()?;
    ensure!(ended.code() == Some(125), "msb start gave {ended}");
    reading.join().expect("a reader does not panic")?;
    Ok(last.load(Ordering::Acquire))
}

fn judge(env: &TestEnv, last: u64) -> Result<()> {
    let listed = done(env, &["ls", "--format", "json", "--filter", "name=crashes"])?;
    let rows: serde_json::Value = serde_json::from_slice(&listed.stdout)?;
    ensure!(
        rows[0]["state"] == "stopped" && rows[0]["exit"]["code"] == 137,
        "listed as {rows}"
    );
    let upper = upper(env)?;
    let copy = env.work.join("upper.ext4");
    let cp = Command::new("cp")
        .arg("--sparse=always")
        .args([&upper, &copy])
        .status()?;
    ensure!(cp.success(), "cannot copy {}", upper.display());
    for (options, allowed) in E2FSCKS {
        let checked = Command::new("e2fsck").args(options).arg(&copy).output()?;
        ensure!(
            checked
                .status
                .code()
                .is_some_and(|code| allowed.contains(&code)),
            "e2fsck {options:?} gave {}: {}",
            checked.status,
            String::from_utf8_lossy(&checked.stdout)
        );
    }
    let log = done(env, &["fs", "cat", NAME, "/root/log"])?.stdout;
    let expected: String = (0..=last).map(|number| format!("{number:09}\n")).collect();
    ensure!(
        log.starts_with(expected.as_bytes()),
        "{last} lines were synced, and the log has {} bytes",
        log.len()
    );
    fs::remove_file(copy)?;
    Ok(())
}

fn upper(env: &TestEnv) -> Result<PathBuf> {
    let output = done(env, &["inspect", NAME])?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let directory = report[0]["directory"].as_str().context("no directory")?;
    upper_disk::only_file(Path::new(directory))
}
