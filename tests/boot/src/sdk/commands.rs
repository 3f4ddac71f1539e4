//! Commands: collected output, time limit, output limit, streams, input, cancellation.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use msb_sdk::{ErrorKind, Event, Process, Sandbox, Text};

/// The time in which a killed command must be gone from the guest.
const GONE_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) async fn check(sandbox: &Sandbox) -> Result<()> {
    collected(sandbox).await?;
    any_bytes(sandbox).await?;
    timeout(sandbox).await?;
    output_limit(sandbox).await?;
    streamed(sandbox).await?;
    input(sandbox).await?;
    dropped(sandbox).await?;
    many(sandbox).await?;
    job(sandbox).await
}

async fn collected(sandbox: &Sandbox) -> Result<()> {
    let output = sandbox
        .shell("echo $A; pwd; echo wrong >&2; exit 3")
        .env("A", "1")
        .cwd("/tmp")
        .await?;
    ensure!(output.exit_code == 3, "exit code {}", output.exit_code);
    ensure!(output.text() == "1\n/tmp\n", "stdout {:?}", output.text());
    ensure!(
        output.error_text() == "wrong\n",
        "{:?}",
        output.error_text()
    );
    let failed = output.check().err().context("exit code 3 is a failure")?;
    ensure!(failed.kind() == ErrorKind::CommandFailed, "{failed}");
    let signalled = sandbox.shell("kill -9 $$").await?;
    ensure!(
        (signalled.exit_code, signalled.signal) == (137, Some(9)),
        "{signalled:?}"
    );
    let echoed = sandbox.exec(["cat"]).stdin(vec![b'x'; 300_000]).await?;
    ensure!(echoed.stdout.len() == 300_000, "{}", echoed.stdout.len());
    Ok(())
}

async fn any_bytes(sandbox: &Sandbox) -> Result<()> {
    // An argument holds every byte but NUL.
    let all: Vec<u8> = (1..=255).collect();
    let argv = [
        Text::from("printf"),
        Text::from("%s"),
        Text::from(all.clone()),
    ];
    let output = sandbox.exec(argv).await?;
    ensure!(output.stdout == all, "{:?}", output.stdout);
    let script = [
        Text::from("sh"),
        Text::from("-c"),
        Text::from("printf %s \"$A\""),
    ];
    let output = sandbox.exec(script).env("A", all.clone()).await?;
    ensure!(output.stdout == all, "{:?}", output.stdout);
    Ok(())
}

async fn timeout(sandbox: &Sandbox) -> Result<()> {
    let begun = Instant::now();
    let outcome = sandbox
        .shell("echo $$; exec sleep 600")
        .timeout(Duration::from_secs(2))
        .await;
    let took = begun.elapsed();
    let error = outcome.err().context("the command ended by itself")?;
    ensure!(error.kind() == ErrorKind::CommandTimeout, "{error}");
    ensure!(error.exit_code() == 124, "exit code {}", error.exit_code());
    ensure!(took < Duration::from_secs(2) + GONE_TIMEOUT, "{took:?}");
    let pid = String::from_utf8(error.stdout().to_vec())?;
    ensure!(!pid.is_empty(), "the output before the timeout is lost");
    gone(sandbox, pid.trim()).await
}

async fn output_limit(sandbox: &Sandbox) -> Result<()> {
    let outcome = sandbox
        .shell("echo $$ >&2; exec yes")
        .max_output(100_000_u64)
        .await;
    let error = outcome.err().context("yes ended by itself")?;
    ensure!(error.kind() == ErrorKind::OutputLimit, "{error}");
    let bytes = error.stdout().len() + error.stderr().len();
    ensure!(bytes == 100_000, "{bytes} bytes");
    let pid = String::from_utf8(error.stderr().to_vec())?;
    gone(sandbox, pid.trim()).await
}

/// A command whose output nobody reads waits, and goes on when somebody does.
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

async fn input(sandbox: &Sandbox) -> Result<()> {
    let process = sandbox
        .spawn(["sh", "-c", "read a; echo got $a; cat"])
        .stdin()
        .await?;
    let stdin = process.stdin();
    stdin.write("first\n").await?;
    stdin.write("rest").await?;
    stdin.close().await?;
    let output = text(&process).await?;
    ensure!(output == "got first\nrest", "{output:?}");
    let process = sandbox
        .spawn(["sh", "-c", "stty size; read a; stty size"])
        .stdin()
        .tty(30, 100)
        .await?;
    process.resize(40, 120).await?;
    process.stdin().write("\n").await?;
    let output = text(&process).await?;
    ensure!(output.contains("40 120"), "{output:?}");
    let process = sandbox.spawn(["sleep", "600"]).await?;
    process.signal("SIGTERM").await?;
    ensure!(
        process.wait().await?.signal == Some(15),
        "SIGTERM is the end"
    );
    Ok(())
}

async fn text(process: &Process) -> Result<String> {
    let mut output = Vec::new();
    while let Some(event) = process.next().await? {
        if let Event::Stdout(bytes) = event {
            output.extend_from_slice(&bytes);
        }
    }
    Ok(String::from_utf8(output)?)
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

async fn job(sandbox: &Sandbox) -> Result<()> {
    let job = sandbox
        .jobs()
        .start(["sh", "-c", "echo made; exit 4"])
        .await?;
    let exit = job.wait().await?;
    ensure!(exit.code == 4, "{exit:?}");
    let logs = job.logs().await?;
    let record = logs.next().await?.context("the job printed a line")?;
    ensure!(record.text() == "made\n", "{record:?}");
    ensure!(logs.next().await?.is_none(), "one line was printed");
    let jobs = sandbox.jobs().list().await?;
    ensure!(jobs.len() == 1 && !jobs[0].running, "{jobs:?}");
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
