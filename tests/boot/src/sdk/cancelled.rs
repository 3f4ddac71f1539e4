//! Changes of a sandbox whose call is cancelled: each is done or undone, and the sandbox answers.

use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use msb_sdk::{
    ApplyOptions, Changes, CommitOptions, Force, ForkOptions, Msb, Operation, Sandbox,
    SandboxState, Size,
};
use test_support::TestEnv;
use tokio::time::timeout;

use super::{client, request, started};

/// The points at which a call is cancelled, in ms after its beginning. At the first one it was polled once.
const POINTS_MS: [u64; 3] = [0, 15, 80];
const NAME: &str = "cancelled-change";
const SNAPSHOT: &str = "s";
/// A file that says which state the sandbox's files are in.
const MARK: &str = "/mark";

/// A call under way.
type Begun = Pin<Box<dyn Future<Output = Result<(), msb_sdk::Error>> + Send>>;

/// A call that is cancelled.
struct Call {
    name: &'static str,
    /// The state of the sandbox before the call.
    from: SandboxState,
    begin: fn(&Sandbox, &TestEnv) -> Begun,
    /// The states that the sandbox may be in afterwards; empty if it may be gone.
    to: &'static [SandboxState],
}

use SandboxState::{Paused, Running, Stopped};

const CALLS: &[Call] = &[
    call(
        "rollback",
        Running,
        |s, _| unit(s.rollback(Some(SNAPSHOT))),
        &[Running],
    ),
    call(
        "stopped rollback",
        Stopped,
        |s, _| unit(s.rollback(Some(SNAPSHOT))),
        &[Stopped],
    ),
    call(
        "snapshot",
        Running,
        |s, _| unit(s.snapshots().create(None, None)),
        &[Running],
    ),
    call(
        "merge",
        Running,
        |s, _| unit(s.snapshots().merge()),
        &[Running],
    ),
    call(
        "fork",
        Running,
        |s, _| unit(s.fork(ForkOptions::default())),
        &[Running],
    ),
    call(
        "start",
        Stopped,
        |s, _| unit(s.start()),
        &[Running, Stopped],
    ),
    call(
        "stop",
        Running,
        |s, _| unit(s.stop(None)),
        &[Running, Stopped],
    ),
    call("kill", Running, |s, _| unit(s.kill()), &[Running, Stopped]),
    call("pause", Running, |s, _| unit(s.pause()), &[Running, Paused]),
    call("rename", Stopped, |s, _| unit(s.rename(NAME)), &[Stopped]),
    call(
        "update",
        Stopped,
        |s, _| unit(s.update(Changes::default().memory(Size::new(300 << 20)))),
        &[Stopped],
    ),
    call(
        "commit",
        Running,
        |s, _| unit(s.commit("cancelled:1", CommitOptions::default())),
        &[Running],
    ),
    call(
        "stopped commit",
        Stopped,
        |s, _| unit(s.commit("cancelled:1", CommitOptions::default())),
        &[Stopped],
    ),
    call(
        "apply",
        Stopped,
        |s, env| {
            let options = ApplyOptions::default().from("/etc").dry_run();
            unit(s.apply(env.work.join("cancelled"), options))
        },
        &[Stopped],
    ),
    call(
        "diff",
        Stopped,
        |s, _| unit(s.diff(msb_sdk::DiffOptions::default())),
        &[Stopped],
    ),
    call(
        "discard",
        Stopped,
        |s, _| unit(s.discard(["/var"])),
        &[Stopped],
    ),
    call(
        "chmod",
        Running,
        |s, _| unit(s.files().chmod(MARK, 0o600)),
        &[Running],
    ),
    call(
        "write",
        Running,
        |s, _| unit(s.files().write("/written", vec![b'x'; 1 << 20])),
        &[Running],
    ),
    call("remove", Stopped, |s, _| unit(s.remove(Force::No)), &[]),
    call(
        "forced remove",
        Running,
        |s, _| unit(s.remove(Force::Yes)),
        &[],
    ),
];

const fn call(
    name: &'static str,
    from: SandboxState,
    begin: fn(&Sandbox, &TestEnv) -> Begun,
    to: &'static [SandboxState],
) -> Call {
    Call {
        name,
        from,
        begin,
        to,
    }
}

/// Forgets the result of an operation.
fn unit<T: Send + 'static>(operation: Operation<T>) -> Begun {
    Box::pin(async move { operation.await.map(drop) })
}

/// After a cancelled call the sandbox is in the state before or after it, and answers at once.
pub(super) async fn changes(env: &TestEnv) -> Result<()> {
    let msb = client(env)?;
    fs_err::create_dir_all(env.work.join("cancelled"))?;
    let mut sandbox = prepared(&msb, env).await?;
    for call in CALLS {
        for point in POINTS_MS {
            let outcome = cancelled(&sandbox, env, call, point).await;
            outcome.with_context(|| format!("{} cancelled after {point} ms", call.name))?;
            if msb.sandboxes().get(sandbox.id()).await.is_err() {
                sandbox = prepared(&msb, env).await?;
            }
        }
    }
    sandbox.remove(Force::Yes).await?;
    for left in msb.sandboxes().list(msb_sdk::SandboxFilter::all()).await? {
        // A fork that was made in spite of the cancellation.
        msb.sandboxes()
            .get(left.id)
            .await?
            .remove(Force::Yes)
            .await?;
    }
    several_rollbacks(&msb, env).await
}

async fn prepared(msb: &Msb, env: &TestEnv) -> Result<Sandbox> {
    let start = || request(msb, env).name(NAME).snapshots().into_future();
    let sandbox = started(start).await?;
    sandbox.detach().await?;
    sandbox.files().write(MARK, "before").await?;
    sandbox.snapshots().create(Some(SNAPSHOT), None).await?;
    Ok(sandbox)
}

async fn cancelled(sandbox: &Sandbox, env: &TestEnv, call: &Call, point: u64) -> Result<()> {
    bring(sandbox, call.from).await?;
    let begun = (call.begin)(sandbox, env);
    // The outcome of a call that was faster than its cancellation.
    let ended = timeout(Duration::from_millis(point), begun).await;
    if let Ok(outcome) = ended {
        outcome?;
    }
    if call.to.is_empty() {
        // It is gone, or it is as it was before: both are seen by the next call.
        return match sandbox.inspect().await {
            Ok(info) => {
                ensure!(
                    info.state == call.from || info.state == Stopped,
                    "{:?}",
                    info.state
                );
                Ok(())
            }
            Err(error) if error.kind() == msb_sdk::ErrorKind::SandboxNotFound => Ok(()),
            Err(error) => Err(error.into()),
        };
    }
    let state = sandbox.inspect().await?.state;
    ensure!(call.to.contains(&state), "it is {state:?}");
    if state == Running {
        // The very next command runs.
        sandbox.shell("true").await?.check()?;
    }
    let mark = sandbox.files().read(MARK).await?;
    ensure!(&mark[..] == b"before", "{mark:?}");
    Ok(())
}

/// Brings the sandbox into a state.
async fn bring(sandbox: &Sandbox, wanted: SandboxState) -> Result<()> {
    if sandbox.inspect().await?.state == Paused {
        sandbox.unpause().await?;
    }
    match (sandbox.inspect().await?.state, wanted) {
        (Running, Stopped) => drop(sandbox.stop(Some(Duration::ZERO)).await?),
        (Running, _) => {}
        (_, Running) => drop(sandbox.start().await?),
        _ => {}
    }
    Ok(())
}

/// Rollbacks that are cancelled one after another do not end the sandbox.
async fn several_rollbacks(msb: &Msb, env: &TestEnv) -> Result<()> {
    let sandbox = prepared(msb, env).await?;
    for point in [20, 60, 20] {
        let rolling = sandbox.rollback(Some(SNAPSHOT));
        let _ = timeout(Duration::from_millis(point), rolling).await;
    }
    sandbox.shell("true").await?.check()?;
    // Another client, which does not wait for the calls of this one, sees a sandbox that answers, too.
    let other = client(env)?.sandboxes().get(NAME).await?;
    other.shell("true").await?.check()?;
    sandbox.remove(Force::Yes).await?;
    Ok(())
}
