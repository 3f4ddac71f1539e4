//! The life of a sandbox: owned, kept, attached to, ended under a command.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use msb_sdk::{ErrorKind, Force, Mount, Msb, Restart, SandboxFilter, Stopped, TransportProtocol};
use test_support::TestEnv;

use super::{client, request, started};

/// The time in which a sandbox ends with its owner.
const OWNED_TIMEOUT: Duration = Duration::from_secs(60);

/// The time in which a call ends with a guest that switches itself off. It contains the start of
/// Python under emulation, and is shorter than the bound for a silent agent, 120 s.
const HALTED_TIMEOUT: Duration = Duration::from_secs(110);
/// The volume that two sandboxes mount one after the other.
const VOLUME: &str = "scope";
/// The time in which a scope ends: 2 s for the guest, and the rest on an overloaded host.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) async fn check(env: &TestEnv) -> Result<()> {
    let msb = client(env)?;
    owned(&msb, env).await?;
    halted(&msb, env).await?;
    volume_writes(&msb, env).await?;
    kept(&msb, env).await?;
    msb.volumes().remove(VOLUME).await?;
    Ok(())
}

/// An owned sandbox is gone once its last handle is dropped; a command in it ends with its reason.
async fn owned(msb: &Msb, env: &TestEnv) -> Result<()> {
    let port = |request: msb_sdk::SandboxRequest| request.publish(80, msb_sdk::Host::any());
    let sandbox = started(|| port(request(msb, env)).name("owned").into_future()).await?;
    let ports = sandbox.ports().await?;
    ensure!(
        ports.len() == 1 && ports[0].host_port != 0 && ports[0].protocol == TransportProtocol::Tcp,
        "{ports:?}"
    );
    let stats = sandbox.stats().await?;
    ensure!(stats.host.memory_bytes > 0, "{stats:?}");
    let running = tokio::spawn(sandbox.exec(["sleep", "600"]).into_future());
    let other = msb.sandboxes().get("owned").await?;
    ensure!(
        !other.is_owned() && sandbox.is_owned(),
        "one handle owns it"
    );
    // The command must run before its sandbox ends.
    while other.exec(["pidof", "sleep"]).await?.exit_code != 0 {}
    drop(sandbox);
    let begun = Instant::now();
    let ended = running.await?.err().context("sleep ended by itself")?;
    ensure!(ended.kind() == ErrorKind::SandboxEnded, "{ended:?}");
    while !msb.sandboxes().list(SandboxFilter::all()).await?.is_empty() {
        ensure!(begun.elapsed() < OWNED_TIMEOUT, "the sandbox lives on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let gone = msb.sandboxes().get("owned").await;
    let gone = gone.err().context("it is gone")?;
    ensure!(gone.kind() == ErrorKind::SandboxNotFound, "{gone:?}");
    Ok(())
}

/// A guest that switches itself off ends every call in it.
async fn halted(msb: &Msb, env: &TestEnv) -> Result<()> {
    // RB_POWER_OFF and RB_HALT_SYSTEM of reboot(2).
    for command in ["0x4321fedc", "0xcdef0123"] {
        let sandbox = started(|| request(msb, env).into_future()).await?;
        let running = tokio::spawn(sandbox.exec(["sleep", "600"]).into_future());
        while sandbox.exec(["pidof", "sleep"]).await?.exit_code != 0 {}
        let code = format!("import ctypes; ctypes.CDLL(None).reboot({command})");
        let begun = Instant::now();
        let off = sandbox.exec(["python3", "-c", &code]).await;
        // The kernel ends who calls it with 0, then kills process 1 and with it all others.
        for (end, code) in [(off, 0), (running.await?, 137)] {
            match end {
                Ok(output) => ensure!([code, 137].contains(&output.exit_code), "{output:?}"),
                Err(error) => ensure!(error.kind() == ErrorKind::SandboxEnded, "{error:?}"),
            }
        }
        while sandbox.exec(["true"]).await.is_ok() {}
        let time = begun.elapsed();
        ensure!(time < HALTED_TIMEOUT, "the calls ended after {time:?}");
        sandbox.close().await?;
    }
    Ok(())
}

/// The end of a scope is a shutdown, which writes what was not synced to a volume.
async fn volume_writes(msb: &Msb, env: &TestEnv) -> Result<()> {
    let mount = || Mount::volume(VOLUME, "/data");
    let sandbox = started(|| request(msb, env).mount(mount()).into_future()).await?;
    let write = sandbox.shell("head -c 100000 /dev/zero > /data/file; echo end >> /data/file");
    write.await?.check()?;
    let begun = Instant::now();
    sandbox.close().await?;
    let took = begun.elapsed();
    ensure!(took < CLOSE_TIMEOUT, "the end took {took:?}");
    Ok(())
}

/// A detached sandbox is kept, and a client that is attached to its main command sees the end. The
/// command reads what the sandbox before it wrote to the volume.
async fn kept(msb: &Msb, env: &TestEnv) -> Result<()> {
    let script =
        "trap 'exit 7' TERM; tail -n 1 /data/file | tail -c 4; while :; do sleep 0.1; done";
    let start = || {
        let request = request(msb, env).name("kept").restart(Restart::No);
        request
            .command(["sh", "-c", script])
            .mount(Mount::volume(VOLUME, "/data"))
            .into_future()
    };
    let sandbox = started(start).await?;
    sandbox.detach().await?;
    let name = sandbox.name();
    drop(sandbox);
    let sandbox = msb.sandboxes().get(name).await?;
    // The trap is set before this line.
    let written = loop {
        if let Some(record) = sandbox.logs().await?.next().await? {
            break record;
        }
    };
    ensure!(written.text() == "end\n", "{written:?}");
    let process = sandbox.attach().await?;
    ensure!(sandbox.stop(None).await? == Stopped::Cleanly, "it stops");
    let seen = process.wait().await?;
    ensure!(seen.code == 7, "the attached client sees {seen:?}");
    sandbox.remove(Force::No).await?;
    Ok(())
}
