//! The SDK as its users call it, against the msb under test.

mod cancelled;
mod commands;
mod examples;
mod files;
mod leaks;
mod life;

use std::time::Duration;

use anyhow::{Context as _, Result};
use msb_sdk::{ErrorKind, Msb, Operation, PullPolicy, Sandbox, SandboxRequest, VmmChoice};
use test_support::TestEnv;
use test_support::harness::Trial;

use crate::trial::boot;

/// The most starts of a guest that does not answer: under emulation one fails now and then.
const STARTS_MAX: u32 = 5;

/// A check of the SDK in its environment.
type Check = fn(&TestEnv) -> Result<()>;

pub(crate) fn tests() -> Vec<Trial> {
    let each: [(&str, Check); 4] = [
        (
            "sdk commands and archives are streamed, and leave no descriptor, thread or memory",
            |env| with_sandbox(env, one_sandbox),
        ),
        ("sdk sandboxes end with their owner", |env| {
            run(life::check(env))
        }),
        ("sdk starts that are cancelled leave nothing", |env| {
            run(leaks::cancelled(env))
        }),
        ("sdk changes that are cancelled are done or undone", |env| {
            run(cancelled::changes(env))
        }),
    ];
    let examples: [(&str, Check); 2] = [
        (
            "the rust guide's examples print what they promise",
            examples::of_guide,
        ),
        (
            "the rust examples that are compared print their results",
            examples::compared,
        ),
    ];
    let trial = |group: &'static str| move |(title, check)| boot(group, title, check);
    let sdk = each.into_iter().map(trial("sdk"));
    sdk.chain(examples.into_iter().map(trial("examples")))
        .collect()
}

/// The checks that share one sandbox.
async fn one_sandbox(sandbox: &Sandbox) -> Result<()> {
    leaks::check(sandbox).await?;
    commands::check(sandbox).await?;
    files::check(sandbox).await
}

/// Runs a check on a runtime of its own, and ends the runtime after it.
fn run<T>(check: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(check);
    runtime.shutdown_timeout(Duration::from_secs(5));
    outcome
}

/// Runs a check with an owned sandbox, and closes the sandbox after it.
fn with_sandbox(env: &TestEnv, check: impl AsyncFn(&Sandbox) -> Result<()>) -> Result<()> {
    run(async {
        let msb = client(env)?;
        let sandbox = started(|| request(&msb, env).into_future()).await?;
        let outcome = check(&sandbox).await;
        sandbox.close().await?;
        outcome
    })
}

/// Returns a client of the home and the msb under test.
fn client(env: &TestEnv) -> Result<Msb> {
    let vmm = match env.vmm() {
        "krun" => VmmChoice::Krun,
        _ => VmmChoice::Qemu,
    };
    Ok(Msb::builder()
        .home(env.home())
        .program(&env.program)
        .kernel(&env.kernel)
        .vmm(vmm)
        .build()?)
}

/// Returns a sandbox that is to be started as the other tests start theirs.
fn request(msb: &Msb, env: &TestEnv) -> SandboxRequest {
    msb.sandboxes()
        .run(env.image())
        .cpus(1)
        .memory(u64::from(env.memory_mib()) << 20)
        .pull(PullPolicy::Never)
        .boot_timeout(Duration::from_secs(120))
}

/// Starts a sandbox, and repeats the start while its guest does not answer.
async fn started(start: impl Fn() -> Operation<Sandbox>) -> Result<Sandbox> {
    let mut last = None;
    for _ in 0..STARTS_MAX {
        match start().await {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::BootTimeout | ErrorKind::MachineFailed
                ) =>
            {
                last = Some(error);
            }
            started => return Ok(started?),
        }
    }
    Err(last.context("no start")?.into())
}
