use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::content::Content;
use super::random::Random;
use super::registry::CountingRegistry;
use super::stage::{BEFORE, Stage, expect_refusal, layout};
use super::system_calls::{Call, Effect, Fault, Traced, places, trace};
use super::{expect_whole, told, verify};
use test_support::{Msb, TestEnv};

/// The errors of a failing disk, and their texts in a message.
const ERRORS: [(&str, &str); 3] = [
    ("EIO", "Input/output error"),
    ("EDQUOT", "Disk quota exceeded"),
    ("ENOSPC", "No space left on device"),
];
/// Calls of which no error may be ignored: their effect is missing.
pub(super) const MUST_REPORT: [&str; 10] = [
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "syncfs",
    "ftruncate",
    "rename",
    "renameat2",
    "linkat",
    "copy_file_range",
];

/// The end of a run with a fault.
enum End {
    /// The fault struck no call on the store, or other calls too.
    Missed,
    /// The command succeeded without the call.
    WentOn,
    Refused,
}

/// Answers calls on the store's files with errors, `count` of them for every stage. Each gives a
/// clear error and loses nothing, and the same command succeeds when the disk works again.
pub(crate) fn fail_calls(env: &TestEnv, count: u32) -> Result<String> {
    let registry = CountingRegistry::serve(&Content::overlapping())?;
    let mut random = Random::new();
    eprintln!("failing disks: seed {}", random.seed);
    let stages = [
        Stage::pull(&registry),
        Stage::load(&env.small_image()?),
        Stage::create(),
        Stage::remove(),
    ];
    let mut figures = Vec::new();
    for stage in &stages {
        figures.push(fail_stage(env, stage, count, &mut random));
    }
    let figures: Vec<String> = figures.into_iter().collect::<Result<_>>()?;
    Ok(format!(
        "errors of the disk in {}: a clear error each, nothing lost, the same command succeeds \
        afterwards",
        figures.join(", ")
    ))
}

fn fail_stage(env: &TestEnv, stage: &Stage, count: u32, random: &mut Random) -> Result<String> {
    let msb = before(env)?;
    let traced = trace(&command(stage, &msb), None, &log(env))?;
    let output = traced.output.context("it does not end")?;
    ensure!(stage.went_on(&output), "{}", told(&output));
    let places = places(traced.calls.iter().filter(|call| on_store(call, &msb.home)));
    let (mut refused, mut went_on, mut missed, mut failed) = (0, 0, 0, 0);
    while refused + went_on + failed < count {
        let (call, ordinal) = places[random.below(places.len())].clone();
        // Not of writes: msb may not end then, for a reason that is not known (LIMITS.md).
        let lasting = random.below(3) == 0 && call != "write";
        let (error, reason) = ERRORS[random.below(ERRORS.len())];
        let fault = Fault {
            call,
            path: None,
            ordinal,
            lasting,
            effect: Effect::Error(error),
        };
        match one(env, stage, &fault, reason) {
            Ok(End::Missed) => missed += 1,
            Ok(End::WentOn) => went_on += 1,
            Ok(End::Refused) => refused += 1,
            Err(error) => {
                failed += 1;
                println!("FAILED  {} with {fault:?}: {error:?}", stage.name);
            }
        }
        ensure!(missed <= 20 * count + 20, "{missed} faults struck nothing");
    }
    ensure!(failed == 0, "{}: {failed} of {count} failed", stage.name);
    ensure!(refused > 0, "{}: no error was told", stage.name);
    Ok(format!(
        "{} {count} ({refused} refused, {went_on} not needed)",
        stage.name
    ))
}

fn one(env: &TestEnv, stage: &Stage, fault: &Fault, reason: &str) -> Result<End> {
    let msb = before(env)?;
    let traced = trace(&command(stage, &msb), Some(fault), &log(env))?;
    let end = judge(stage, &traced, reason, &msb.home)?;
    let damages = verify(&msb).context("after the fault")?;
    ensure!(damages.is_empty(), "{damages:?}");
    expect_whole(&msb)?;
    if stage.name == "remove" {
        // The image may have been removed already; the load restores it.
        msb.load(&layout(env), BEFORE)?;
    }
    msb.inspect(BEFORE)?;
    let again = command(stage, &msb).output()?;
    ensure!(stage.went_on(&again), "on a good disk: {}", told(&again));
    expect_whole(&msb)?;
    Ok(end)
}

/// Checks the command's result, and returns the end that the fault led to.
fn judge(stage: &Stage, traced: &Traced, reason: &str, home: &Path) -> Result<End> {
    let (on_store, elsewhere): (Vec<&Call>, Vec<&Call>) = traced
        .calls
        .iter()
        .filter(|call| call.is_injected())
        .partition(|call| on_store(call, home));
    // A failure of a pipe or of the program itself is not a failing disk.
    if on_store.is_empty() || !elsewhere.is_empty() {
        return Ok(End::Missed);
    }
    let output = traced.output.as_ref();
    let output = output.with_context(|| format!("it does not end after {on_store:?}"))?;
    if stage.went_on(output) {
        let unreported = on_store
            .iter()
            .find(|call| MUST_REPORT.contains(&call.name.as_str()));
        ensure!(unreported.is_none(), "passed over: {unreported:?}");
        return Ok(End::WentOn);
    }
    expect_refusal(output, reason, home).with_context(|| format!("{on_store:?}"))?;
    Ok(End::Refused)
}

/// Returns a store that has an image.
fn before(env: &TestEnv) -> Result<Msb> {
    let msb = env.msb_at("failing")?;
    msb.load(&layout(env), BEFORE)?;
    Ok(msb)
}

fn command(stage: &Stage, msb: &Msb) -> Command {
    let mut command = msb.command(&[]);
    command.args(&stage.arguments);
    command
}

fn log(env: &TestEnv) -> PathBuf {
    env.work.join("calls")
}

fn on_store(call: &Call, home: &Path) -> bool {
    call.text.contains(&home.display().to_string())
}
