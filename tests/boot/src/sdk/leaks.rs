//! Leaks of commands, streams and starts: descriptors, threads, memory, sandboxes.

use std::future::IntoFuture as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use msb_sdk::{Event, Force, Sandbox, SandboxFilter};
use test_support::{TestEnv, settings};

use super::{client, request, started};

/// The number of commands by default; `MSB_TEST_COUNT` gives another one.
const COMMANDS: u32 = 100;
const WARMING: u32 = 20;
/// Bytes of a stream, far more than a reader may hold.
const STREAM_MIB: usize = 100;
const MEMORY_MAX_KIB: u64 = 32 << 10;
/// Idle threads of tokio end after 10 s.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(60);
/// Points of a start: before the machine, while it boots, and when it answers.
const POINTS_MS: [u64; 5] = [1, 50, 200, 500, 1000];

/// Commands and streams leave nothing in this process.
pub(super) async fn check(sandbox: &Sandbox) -> Result<()> {
    let count = settings::count(COMMANDS)?;
    repeat(sandbox, WARMING).await?;
    let (descriptors, threads) = (entries("fd")?, entries("task")?);
    repeat(sandbox, count).await?;
    // Other tests of this process open and close descriptors, too: half of what a leak would leave.
    let room = usize::try_from(count)? / 2;
    let begun = Instant::now();
    while entries("fd")? > descriptors + room || entries("task")? > threads + room {
        ensure!(
            begun.elapsed() < RELEASE_TIMEOUT,
            "{count} commands left {} descriptors and {} threads more than {descriptors} and {threads}",
            entries("fd")?,
            entries("task")?
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    streamed(sandbox).await
}

async fn repeat(sandbox: &Sandbox, count: u32) -> Result<()> {
    for _ in 0..count {
        sandbox.exec(["true"]).await?.check()?;
    }
    Ok(())
}

/// A stream of a command's output takes little memory.
async fn streamed(sandbox: &Sandbox) -> Result<()> {
    let before_kib = resident_kib()?;
    let (mut bytes, mut largest_kib) = (0, 0);
    let size = format!("{STREAM_MIB}M");
    let process = sandbox.spawn(["head", "-c", &size, "/dev/zero"]).await?;
    while let Some(event) = process.next().await? {
        if let Event::Stdout(chunk) = event {
            bytes += chunk.len();
            largest_kib = largest_kib.max(resident_kib()?);
        }
    }
    ensure!(bytes == STREAM_MIB << 20, "{bytes} bytes");
    let risen_kib = largest_kib.saturating_sub(before_kib);
    ensure!(risen_kib < MEMORY_MAX_KIB, "{risen_kib} KiB more");
    Ok(())
}

/// A start that is cancelled, at whatever point, leaves no sandbox, and its name is free.
pub(super) async fn cancelled(env: &TestEnv) -> Result<()> {
    let msb = client(env)?;
    for point in POINTS_MS {
        let start = request(&msb, env).name("cancelled").into_future();
        if let Ok(sandbox) = tokio::time::timeout(Duration::from_millis(point), start).await {
            sandbox?.remove(Force::Yes).await?;
        }
        // Until then the name may be held by a start that is still being broken off.
        msb.settled().await?;
        let left = msb.sandboxes().list(SandboxFilter::all()).await?;
        ensure!(
            left.is_empty(),
            "a start that was cancelled after {point} ms left a sandbox"
        );
    }
    let named = || request(&msb, env).name("cancelled").into_future();
    started(named).await?.close().await?;
    Ok(())
}

/// Returns the number of entries of a directory of this process in /proc.
fn entries(name: &str) -> Result<usize> {
    Ok(fs_err::read_dir(format!("/proc/self/{name}"))?.count())
}

/// Returns the resident memory of this process.
fn resident_kib() -> Result<u64> {
    let status = fs_err::read_to_string("/proc/self/status")?;
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmRSS:"));
    let words = line.context("no VmRSS")?.trim();
    Ok(words.trim_end_matches(" kB").parse()?)
}
