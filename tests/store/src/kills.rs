use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::content::Content;
use super::pulls::start;
use super::random::Random;
use super::registry::CountingRegistry;
use super::{expect_whole, pull, unfinished};
use test_support::{TestEnv, succeed};

/// Longest pause between two kills, in milliseconds.
const PAUSE_MS: usize = 150;

/// Kills pulls, two to eight at once, at random moments, until `kills` were killed in time. After
/// each group nothing is torn, and the next pull succeeds.
pub(crate) fn kill_pulls(env: &TestEnv, kills: u32) -> Result<String> {
    let registry = CountingRegistry::serve(&Content::overlapping())?;
    let mut random = Random::new();
    eprintln!("killed pulls: seed {}", random.seed);
    let (mut killed, mut groups, mut most_left) = (0, 0, 0);
    while killed < kills {
        let (in_time, left) = group(env, &registry, &mut random)
            .with_context(|| format!("group {groups}, after {killed} kills"))?;
        killed += in_time;
        groups += 1;
        most_left = most_left.max(left);
    }
    Ok(format!(
        "{killed} pulls killed in {groups} groups: 0 damaged, {groups} of {groups} next pulls \
        succeed, at most {most_left} unfinished directories, reclaimed at the next start"
    ))
}

/// Returns the number of pulls killed before their end, and of unfinished directories they left.
fn group(env: &TestEnv, registry: &CountingRegistry, random: &mut Random) -> Result<(u32, usize)> {
    let msb = env.msb_at("killed")?;
    let names = registry.names();
    let count = 2 + random.below(7);
    let mut children = Vec::new();
    for _ in 0..count {
        children.push(start(&msb, &names[random.below(names.len())])?);
    }
    let mut in_time = 0;
    for child in &mut children {
        let pause_ms = random.below(PAUSE_MS);
        std::thread::sleep(Duration::from_millis(u64::try_from(pause_ms)?));
        in_time += u32::from(child.try_wait()?.is_none());
        child.kill()?;
    }
    for child in children {
        drop(child.wait_with_output()?);
    }
    let left = unfinished(&msb)?.len();
    ensure!(left <= count, "{count} kills left {left} directories");
    // Opening the store reclaims the unfinished directories.
    expect_whole(&msb)?;
    let name = &names[random.below(names.len())];
    succeed(&mut pull(&msb, name)).context("the next pull")?;
    expect_whole(&msb)?;
    Ok((in_time, left))
}
