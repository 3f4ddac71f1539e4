use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::content::Content;
use super::random::Random;
use super::registry::CountingRegistry;
use super::stage::{BEFORE, Stage, expect_refusal, layout};
use super::system_calls::{Call, Fault, Traced, places, trace};
use super::{Ground, expect_whole, told, verify};
use crate::oracle::Msb;

/// What a failing disk answers, and how it reads.
const ERRORS: [(&str, &str); 3] = [
    ("EIO", "Input/output error"),
    ("EDQUOT", "Disk quota exceeded"),
    ("ENOSPC", "No space left on device"),
];
/// Calls of which no error may be passed over: what they were to do is not done.
const MUST_REPORT: [&str; 9] = [
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "ftruncate",
    "rename",
    "renameat2",
    "linkat",
    "copy_file_range",
];

/// How a run with a fault ended.
enum End {
    /// The fault struck no call on the store, or others too.
    Missed,
    /// The command did what it should without the call.
    WentOn,
    Refused,
}

/// Answers calls on the store's files with errors, so many for every stage: a clear error, nothing
/// lost, and the same command succeeds when the disk is well again.
pub(crate) fn fail_calls(ground: &Ground<'_>, count: u32) -> Result<String> {
    let registry = CountingRegistry::serve(Content::overlapping()?)?;
    let mut random = Random::new();
    eprintln!("failing disks: seed {}", random.seed);
    let stages = [
        Stage::pull(&registry),
        Stage::load(ground),
        Stage::create(),
        Stage::remove(),
    ];
    let mut figures = Vec::new();
    for stage in &stages {
        figures.push(fail_stage(ground, stage, count, &mut random));
    }
    let figures: Vec<String> = figures.into_iter().collect::<Result<_>>()?;
    Ok(format!(
        "errors of the disk in {}: a clear error each, nothing lost, the same command succeeds \
        afterwards",
        figures.join(", ")
    ))
}

fn fail_stage(
    ground: &Ground<'_>,
    stage: &Stage,
    count: u32,
    random: &mut Random,
) -> Result<String> {
    let msb = before(ground)?;
    let traced = trace(&command(ground, stage, &msb), None, &log(ground))?;
    let output = traced.output.context("it does not end")?;
    ensure!(stage.went_on(&output), "{}", told(&output));
    let places = places(traced.calls.iter().filter(|call| on_store(call, &msb.home)));
    let (mut refused, mut went_on, mut missed, mut failed) = (0, 0, 0, 0);
    while refused + went_on + failed < count {
        let (call, ordinal) = places[random.below(places.len())].clone();
        let lasting = random.below(3) == 0;
        let (error, reason) = ERRORS[random.below(ERRORS.len())];
        let fault = Fault {
            call,
            ordinal,
            lasting,
            error,
        };
        match one(ground, stage, &fault, reason) {
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

fn one(ground: &Ground<'_>, stage: &Stage, fault: &Fault, reason: &str) -> Result<End> {
    let msb = before(ground)?;
    let traced = trace(&command(ground, stage, &msb), Some(fault), &log(ground))?;
    let end = judge(stage, &traced, reason, &msb.home)?;
    let damages = verify(&msb).context("after the fault")?;
    ensure!(damages.is_empty(), "{damages:?}");
    expect_whole(&msb)?;
    if stage.name == "remove" {
        // It may be gone already: then it comes back.
        msb.load(&layout(ground)?, BEFORE)?;
    }
    msb.inspect(BEFORE)?;
    let again = command(ground, stage, &msb).output()?;
    ensure!(stage.went_on(&again), "on a good disk: {}", told(&again));
    expect_whole(&msb)?;
    Ok(end)
}

/// What the command made of the fault.
fn judge(stage: &Stage, traced: &Traced, reason: &str, home: &Path) -> Result<End> {
    let (on_store, elsewhere): (Vec<&Call>, Vec<&Call>) = traced
        .calls
        .iter()
        .filter(|call| call.is_injected())
        .partition(|call| on_store(call, home));
    // A pipe or the program itself that fails is no failing disk.
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

/// A store that has an image.
fn before(ground: &Ground<'_>) -> Result<Msb> {
    let msb = ground.msb("failing")?;
    msb.load(&layout(ground)?, BEFORE)?;
    Ok(msb)
}

fn command(ground: &Ground<'_>, stage: &Stage, msb: &Msb) -> Command {
    let mut command = msb.command(&[]);
    command
        .args(&stage.arguments)
        .env("MSB_KERNEL", ground.kernel);
    command
}

fn log(ground: &Ground<'_>) -> PathBuf {
    ground.work.join("calls")
}

fn on_store(call: &Call, home: &Path) -> bool {
    call.text.contains(&home.display().to_string())
}
