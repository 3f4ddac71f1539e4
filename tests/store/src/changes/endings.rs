use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use test_support::TestEnv;

use super::super::faults::MUST_REPORT;
use super::super::full_disk::{Disk, FULL};
use super::super::system_calls::{Effect, Traced, trace_calls};
use super::super::told;
use super::operation::{Operation, Outcome, Undisturbed};
use super::step::{NAMES, Step};
use super::world::World;

/// The number of the signal that no process survives, and the exit code of msb's failures.
const SIGKILL: i32 = 9;
const FAILED: i32 = 125;
/// The words of a refusal before anything is written.
const NO_ROOM: &str = "bytes are free";

/// The end of a command at a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ending {
    Killed,
    /// The step fails with the error of a full disk.
    Full,
}

/// Ends an operation at a step, checks what it left, and runs it again. Returns the state in
/// between; `None` if the step was not made this time.
pub(super) fn end_at(
    world: &World,
    operation: &Operation,
    undisturbed: &Undisturbed,
    step: &Step,
    ending: Ending,
) -> Result<Option<Outcome>> {
    world.reset()?;
    let effect = match ending {
        Ending::Killed => Effect::Kill,
        Ending::Full => Effect::Error("ENOSPC"),
    };
    let fault = step.fault(effect);
    let traced = trace_calls(NAMES, &operation.command(world), Some(&fault), &world.log)?;
    let is_struck = match ending {
        Ending::Killed => is_killed(&traced, step, world)?,
        Ending::Full => is_failed(&traced, world)?,
    };
    if !is_struck {
        return Ok(None);
    }
    let outcome = operation.outcome(world, undisturbed)?;
    let waits = world.has_waiting_apply()?;
    if ending == Ending::Full && !waits {
        // A process that still runs takes away what it has begun, unless another one finishes it.
        world.names().context("after the error")?;
    }
    if ending == Ending::Full {
        world.expect_no_remains().context("after the error")?;
    }
    world.expect_whole().context("after it")?;
    if operation.is_finished_by_others && waits {
        finish_by_another(world, operation, undisturbed)?;
    }
    run_again(world, operation, undisturbed, outcome)?;
    Ok(Some(outcome))
}

/// Runs every operation with `amounts` different amounts of free space, and again with enough.
/// Returns the number of runs that the disk was too small for.
pub(super) fn fill_disk(env: &TestEnv, amounts: u32) -> Result<String> {
    let disk = Disk::mount(env.work.join("full/world"))?;
    let world = World::on(env, &env.work.join("full"))?;
    let mut figures = Vec::new();
    for operation in super::operation::all(&world) {
        if operation.needs_kib == 0 {
            continue;
        }
        let name = operation.name;
        disk.resize("1g")?;
        let undisturbed = operation.undisturbed(&world).context(name)?;
        deny_syncs_at_once(&world, &operation, &undisturbed).context(name)?;
        let mut full = 0;
        for amount in 0..amounts {
            let free_kib = operation.needs_kib * u64::from(amount) / u64::from(amounts);
            disk.resize("1g")?;
            world.reset()?;
            disk.leave_kib(free_kib)?;
            let output = operation.command(&world).output()?;
            let context = || format!("{name} with {free_kib} KiB free: {}", told(&output));
            let is_full = !output.status.success();
            full += u32::from(is_full);
            if is_full {
                expect_refusal(&output).with_context(context)?;
            }
            let outcome = operation.outcome(&world, &undisturbed);
            let outcome = outcome.with_context(context)?;
            disk.resize("1g")?;
            if !world.has_waiting_apply().with_context(context)? {
                world.names().with_context(context)?;
            }
            world.expect_no_remains().with_context(context)?;
            world.expect_whole().with_context(context)?;
            run_again(&world, &operation, &undisturbed, outcome).with_context(context)?;
        }
        ensure!(full > 0, "{name} was never short of space");
        figures.push(format!("{name} {amounts} ({full} full)"));
    }
    Ok(figures.join(", "))
}

/// Answers each sync of a whole filesystem with an error, which the command has to report.
fn deny_syncs_at_once(
    world: &World,
    operation: &Operation,
    undisturbed: &Undisturbed,
) -> Result<()> {
    let mut denied = 0;
    let steps = undisturbed.steps.iter();
    for step in steps.filter(|step| step.is_sync_at_once()) {
        let outcome = end_at(world, operation, undisturbed, step, Ending::Full);
        denied += u32::from(outcome.with_context(|| format!("at {step:?}"))?.is_some());
    }
    ensure!(
        operation.syncs_at_once == (denied > 0),
        "{denied} syncs of the whole filesystem were denied"
    );
    Ok(())
}

/// Returns true if the command was killed at the step, and false if it never came to it, or was killed at another
/// call of the same number.
fn is_killed(traced: &Traced, step: &Step, world: &World) -> Result<bool> {
    let output = traced.output.as_ref().context("it does not end")?;
    if output.status.success() {
        return Ok(false);
    }
    // strace ends as its program does.
    let status = output.status;
    let is_killed = status.signal() == Some(SIGKILL) || status.code() == Some(128 + SIGKILL);
    ensure!(is_killed, "{}", told(output));
    let mut calls = traced.calls.iter();
    Ok(calls.any(|call| step.is_cut_short(call, &world.root)))
}

/// Returns true if a call on a file failed. The command says so, or did not need the call.
fn is_failed(traced: &Traced, world: &World) -> Result<bool> {
    let mut injected = traced.calls.iter().filter(|call| call.is_injected());
    let Some(call) = injected.next() else {
        return Ok(false);
    };
    // Pipes and sockets are not on the disk.
    if !call.text.contains(&world.root.display().to_string()) {
        return Ok(false);
    }
    let output = traced.output.as_ref();
    let output = output.with_context(|| format!("it does not end after {}", call.text))?;
    if output.status.success() {
        // A file that cannot be another name of one is copied.
        let is_spare = call.paths().any(|path| world.is_spare_journal(path));
        let must_report = call.name != "linkat" && !is_spare && MUST_REPORT.contains(&&*call.name);
        // What is no part of the change, such as its line in the history, is told in a notice.
        let is_told = told(output).contains(FULL);
        ensure!(!must_report || is_told, "passed over: {}", call.text);
        return Ok(true);
    }
    expect_refusal(output).with_context(|| call.text.clone())?;
    Ok(true)
}

/// Checks that a command has failed because the disk is full, and says so.
fn expect_refusal(output: &Output) -> Result<()> {
    let text = told(output);
    ensure!(output.status.code() == Some(FAILED), "{text}");
    let is_told = text.contains(FULL) || text.contains(NO_ROOM);
    ensure!(is_told, "does not say '{FULL}': {text}");
    Ok(())
}

/// Lets another command finish what was begun, and checks that all is new then.
fn finish_by_another(
    world: &World,
    operation: &Operation,
    undisturbed: &Undisturbed,
) -> Result<()> {
    let other = world.command(&["prune"]).output()?;
    ensure!(other.status.success(), "another command: {}", told(&other));
    ensure!(!world.has_waiting_apply()?, "the apply waits still");
    let outcome = operation.outcome(world, undisturbed)?;
    ensure!(outcome.is_new, "another command did not finish it");
    Ok(())
}

/// Runs an operation to its end after it was disturbed, and checks that all is as if it was not.
fn run_again(
    world: &World,
    operation: &Operation,
    undisturbed: &Undisturbed,
    outcome: Outcome,
) -> Result<()> {
    if !(operation.is_once && outcome.is_new) {
        let again = operation.command(world).output()?;
        ensure!(again.status.success(), "again: {}", told(&again));
    }
    let outcome = operation.outcome(world, undisturbed)?;
    ensure!(outcome.is_new, "the next run did not finish it");
    world.expect_whole().context("at the end")?;
    let names = world.names().context("at the end")?;
    let left = missing_from(&names, &undisturbed.names);
    let lost = missing_from(&undisturbed.names, &names);
    ensure!(
        left.is_empty() && lost.is_empty(),
        "left over: {left:?}, missing: {lost:?}"
    );
    Ok(())
}

/// Returns the paths that the others lack.
fn missing_from<'a>(paths: &'a [PathBuf], others: &[PathBuf]) -> Vec<&'a PathBuf> {
    let is_missing = |path: &&PathBuf| !others.contains(path);
    paths.iter().filter(is_missing).collect()
}
