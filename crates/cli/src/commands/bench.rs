use std::time::Duration;

use anyhow::Context as _;
use msb_bench::{Benchmark, Msb};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{Context, block_on};
use crate::failure::Outcome;

/// What a benchmark ends with that misses a target.
const EXIT_MISSED: u8 = 1;
/// What a program ends with that a signal ended, less the signal's number.
const EXIT_SIGNAL: u8 = 128;
/// How long a benchmark that was interrupted has to take away what it made.
const LEAVE_PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn run(context: &Context, benchmark: Benchmark) -> Outcome {
    let msb = Msb::this(context.home.root())?;
    // What is itself measured has no other threads.
    if benchmark.is_measured() {
        return ended(msb_bench::run(&benchmark, &msb));
    }
    block_on(async {
        let mut work = spawn_blocking(move || msb_bench::run(&benchmark, &msb));
        tokio::select! {
            met = &mut work => ended(met.context("the benchmark broke off")?),
            number = interrupted() => {
                // Without its sandboxes it fails, and removes the rest of what it made.
                spawn_blocking(msb_bench::remove_sandboxes).await?;
                let _ = timeout(LEAVE_PATIENCE, work).await;
                spawn_blocking(msb_bench::remove_sandboxes).await?;
                Ok(EXIT_SIGNAL + number?)
            }
        }
    })
}

fn ended(met: anyhow::Result<bool>) -> Outcome {
    Ok(if met? { 0 } else { EXIT_MISSED })
}

/// Waits for a signal to end; gives its number.
async fn interrupted() -> anyhow::Result<u8> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let kind = tokio::select! {
        _ = interrupt.recv() => SignalKind::interrupt(),
        _ = terminate.recv() => SignalKind::terminate(),
        _ = hangup.recv() => SignalKind::hangup(),
    };
    Ok(u8::try_from(kind.as_raw_value())?)
}
