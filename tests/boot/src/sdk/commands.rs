//! Commands as users of Rust run them: awaited, dropped, many at once. The behaviours that every
//! language has are in `sdk/conformance`.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use msb_sdk::{ErrorKind, Event, Sandbox};

/// The time in which a killed command must be gone from the guest.
const GONE_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) async fn check(sandbox: &Sandbox) -> Result<()> {
    streamed(sandbox).await?;
    resized(sandbox).await?;
    dropped(sandbox).await?;
    many(sandbox).await
}

/// A command whose output is not read waits, and continues when it is.
async fn streamed(sandbox: &Sandbox) -> Result<()> {
    let script =
        "i=0; while [ $i -lt 4000 ]; do printf '%01000d' 0; i=$((i+1)); echo $i > /tmp/sent; done";
    let process = sandbox.spawn(["sh", "-c", script]).await?;
    let sent = async || -> Result<u32> {
        let text = sandbox.files().read("/tmp/sent").await?;
        Ok(std::str::from_utf8(&text)?.trim().parse()?)
    };
    // Until the writer stands still for a second.
    let mut before = u32::MAX;
    let standing = loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = sent().await.unwrap_or(0);
        if now > 0 && now == before {
            break now;
        }
        before = now;
    };
    ensure!(standing < 4000, "nothing stopped the writer");
    let mut bytes = 0;
    let exit = loop {
        match process.next().await? {
            Some(Event::Stdout(chunk)) => bytes += chunk.len(),
            Some(Event::Exit(exit)) => break exit,
            Some(_) => {}
            None => bail!("the stream ended without an exit"),
        }
    };
    ensure!((bytes, exit.code) == (4_000_000, 0), "{bytes}, {exit:?}");
    ensure!(process.next().await?.is_none(), "events after the exit");
    ensure!(process.wait().await?.code == 0, "the exit is kept");
    Ok(())
}

/// A terminal has the size that it was given last.
async fn resized(sandbox: &Sandbox) -> Result<()> {
    let process = sandbox
        .spawn(["sh", "-c", "stty size; read a; stty size"])
        .stdin()
        .tty(30, 100)
        .await?;
    process.resize(40, 120).await?;
    process.stdin().write("\n").await?;
    let mut output = Vec::new();
    while let Some(event) = process.next().await? {
        if let Event::Stdout(bytes) = event {
            output.extend_from_slice(&bytes);
        }
    }
    let output = String::from_utf8(output)?;
    ensure!(output.contains("40 120"), "{output:?}");
    Ok(())
}

/// Dropping a process, or the operation of a command, kills the command.
async fn dropped(sandbox: &Sandbox) -> Result<()> {
    let process = sandbox.spawn(["sleep", "601"]).await?;
    let pid = process.pid().to_string();
    drop(process);
    gone(sandbox, &pid).await?;
    let running = sandbox
        .shell("echo $$ > /tmp/pid; exec sleep 602")
        .into_future();
    let begun = async {
        // The shell makes the file before it writes to it.
        loop {
            match sandbox.files().read("/tmp/pid").await {
                Ok(pid) if pid.ends_with(b"\n") => return Ok(pid),
                Err(error) if error.kind() != ErrorKind::PathNotFound => return Err(error),
                _ => {}
            }
        }
    };
    let pid = tokio::select! {
        output = running => bail!("the command ended by itself: {output:?}"),
        begun = begun => begun?,
    };
    gone(sandbox, std::str::from_utf8(&pid)?.trim()).await
}

/// 64 commands run at once on one connection.
async fn many(sandbox: &Sandbox) -> Result<()> {
    let commands: Vec<_> = (0..64)
        .map(|number| {
            tokio::spawn(
                sandbox
                    .exec(["echo".to_owned(), number.to_string()])
                    .into_future(),
            )
        })
        .collect();
    for (number, command) in commands.into_iter().enumerate() {
        let output = command.await??;
        ensure!(output.text() == format!("{number}\n"), "{output:?}");
    }
    Ok(())
}

/// Waits until no process of the guest has this id.
async fn gone(sandbox: &Sandbox, pid: &str) -> Result<()> {
    let begun = Instant::now();
    while sandbox.files().exists(format!("/proc/{pid}")).await? {
        ensure!(begun.elapsed() < GONE_TIMEOUT, "process {pid} lives on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
