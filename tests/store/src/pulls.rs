use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::fs::{FlockOperation, flock};

use super::content::Content;
use super::random::Random;
use super::registry::CountingRegistry;
use super::{expect_whole, pull, told};
use test_support::{Msb, TestEnv};

/// Number of processes that pull at once; of every `KILLED_OF` of them one is killed.
const PROCESSES: usize = 20;
const KILLED_OF: usize = 3;
/// Number of processes that pull one image at once.
const CROWD: usize = 64;
/// The longest time before a pull is killed, in milliseconds.
const KILL_WITHIN_MS: usize = 1500;

/// Pulls overlapping images in twenty processes, and checks that the store is intact at the end.
/// First they are undisturbed, and each layer is downloaded once; then a third of them are killed
/// while others remove, prune and verify.
pub(crate) fn pull_overlapping(env: &TestEnv, rounds: u32) -> Result<String> {
    let registry = CountingRegistry::serve_with(&Content::overlapping(), &env.small_image()?)?;
    let mut random = Random::new();
    eprintln!("overlapping pulls: seed {}", random.seed);
    let (mut killed, mut disturbances) = (0, 0);
    for round in 0..rounds {
        undisturbed(env, &registry, &mut random)
            .with_context(|| format!("undisturbed, round {round}"))?;
        let (kills, others) = disturbed(env, &registry, &mut random)
            .with_context(|| format!("disturbed, round {round}"))?;
        killed += kills;
        disturbances += others;
    }
    Ok(format!(
        "{rounds} rounds of {PROCESSES} pulls: each layer fetched once; {rounds} more with {killed} \
        kills and {disturbances} removals, prunings and verifications: 0 failures, 0 damaged"
    ))
}

fn undisturbed(env: &TestEnv, registry: &CountingRegistry, random: &mut Random) -> Result<()> {
    let msb = env.msb_at("undisturbed")?;
    registry.take_counts();
    let names = registry.names();
    let children = (0..PROCESSES).map(|_| start(&msb, &names[random.below(names.len())]));
    for child in children.collect::<Result<Vec<_>>>()? {
        end(child)?;
    }
    let counts = registry.take_counts();
    ensure!(!counts.is_empty(), "nothing was fetched");
    ensure!(
        counts.values().all(|&count| count == 1),
        "layers were fetched more than once: {counts:?}"
    );
    expect_whole(&msb)
}

/// Returns the number of pulls killed, and of other commands that ran at the same time.
fn disturbed(
    env: &TestEnv,
    registry: &CountingRegistry,
    random: &mut Random,
) -> Result<(u32, u32)> {
    let msb = env.msb_at("disturbed")?;
    let names = registry.names();
    let (over, others) = (AtomicBool::new(false), AtomicU32::new(0));
    let mut killed = 0;
    std::thread::scope(|scope| -> Result<()> {
        let commands = [
            vec!["image", "rm", &names[0]],
            vec!["prune"],
            vec!["prune", "--all"],
            vec!["image", "verify"],
        ];
        let disturbing = commands.map(|command| {
            let (msb, over, others) = (&msb, &over, &others);
            scope.spawn(move || disturb(msb, &command, over, others))
        });
        let pulled = pull_and_kill(&msb, &names, random);
        over.store(true, Ordering::Relaxed);
        for thread in disturbing {
            thread.join().expect("a disturber does not panic")?;
        }
        killed = pulled?;
        Ok(())
    })?;
    expect_whole(&msb)?;
    for name in &names {
        end(start(&msb, name)?)?;
    }
    expect_whole(&msb)?;
    Ok((killed, others.into_inner()))
}

fn pull_and_kill(msb: &Msb, names: &[String], random: &mut Random) -> Result<u32> {
    let mut children = Vec::new();
    for index in 0..PROCESSES {
        let child = start(msb, &names[random.below(names.len())])?;
        children.push((child, index % KILLED_OF == 0));
    }
    let mut killed = 0;
    for (child, is_victim) in &mut children {
        if *is_victim {
            let pause_ms = random.below(KILL_WITHIN_MS / (PROCESSES / KILLED_OF));
            std::thread::sleep(Duration::from_millis(u64::try_from(pause_ms)?));
            killed += u32::from(child.try_wait()?.is_none());
            child.kill()?;
        }
    }
    for (child, is_victim) in children {
        if is_victim {
            drop(child.wait_with_output()?);
        } else {
            end(child)?;
        }
    }
    Ok(killed)
}

/// Runs a command repeatedly. An image may be missing; everything else must succeed.
fn disturb(msb: &Msb, command: &[&str], over: &AtomicBool, others: &AtomicU32) -> Result<()> {
    while !over.load(Ordering::Relaxed) {
        let output = msb.command(command).output()?;
        let text = told(&output);
        ensure!(
            output.status.success() || text.contains("is not in the store"),
            "{command:?} gave {text}"
        );
        others.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Pulls one image in 64 processes while others are pruned repeatedly. Each layer is fetched once,
/// all pulls succeed, and an image that is in use stays.
pub(crate) fn pull_at_once(env: &TestEnv, rounds: u32) -> Result<String> {
    let registry = CountingRegistry::serve(&Content::overlapping())?;
    let mut prunings = 0;
    for round in 0..rounds {
        prunings += crowd(env, &registry).with_context(|| format!("crowd {round}"))?;
    }
    Ok(format!(
        "{rounds} rounds of {CROWD} pulls of one image: each layer fetched once, {prunings} prunings \
        meanwhile, 0 failures, 0 in-use images removed"
    ))
}

fn crowd(env: &TestEnv, registry: &CountingRegistry) -> Result<u32> {
    let msb = env.msb_at("crowd")?;
    let (used, wanted) = (registry.name("overlap-0"), registry.name("overlap-4"));
    end(start(&msb, &used)?)?;
    let hold = hold_image(&msb, &used)?;
    registry.take_counts();
    let (over, prunings) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| -> Result<()> {
        let (msb, over, prunings) = (&msb, &over, &prunings);
        let pruning = scope.spawn(move || disturb(msb, &["prune"], over, prunings));
        let children = (0..CROWD).map(|_| start(msb, &wanted));
        let ended = children
            .collect::<Result<Vec<_>>>()
            .and_then(|children| children.into_iter().try_for_each(end));
        over.store(true, Ordering::Relaxed);
        pruning.join().expect("pruning does not panic")?;
        ended
    })?;
    let counts = registry.take_counts();
    ensure!(
        counts.values().all(|&count| count == 1) && counts.len() >= 12,
        "not each layer was fetched once: {counts:?}"
    );
    let output = msb.command(&["prune", "--all"]).output()?;
    ensure!(output.status.success(), "{}", told(&output));
    expect_whole(&msb)?;
    msb.inspect(&used).context("an image in use was removed")?;
    ensure!(msb.inspect(&wanted).is_err(), "an unused image stays");
    drop(hold);
    Ok(prunings.into_inner())
}

/// Takes a lease of an image as a running sandbox does.
fn hold_image(msb: &Msb, name: &str) -> Result<fs::File> {
    let output = msb.command(&["image", "inspect", name]).output()?;
    let record: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let digest = record["manifest_digest"].as_str().context("no digest")?;
    let hex = digest.strip_prefix("sha256:").context("not sha256")?;
    let path = msb.home.join("store/v2/locks");
    let lock = fs::File::create(Path::new(&path).join(format!("image-{hex}.lock")))?;
    flock(&lock, FlockOperation::LockShared)?;
    Ok(lock)
}

pub(super) fn start(msb: &Msb, name: &str) -> Result<Child> {
    let child = pull(msb, name)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    Ok(child)
}

fn end(child: Child) -> Result<()> {
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "a pull gave {}", told(&output));
    Ok(())
}
