//! `create` with a staged directory or a native root, `apply`, also with a discard, `allow`, `restage`, `discard`,
//! `commit`, `save`, `push`, `image pack` and `unpack`, snapshots, rollbacks and undos, killed and denied room at every step: each call that changes
//! a file of the test, or sends to the registry. What an operation changes is then old or new, the same command
//! succeeds, and nothing is left over.

mod endings;
mod observe;
mod operation;
mod registry;
mod staged;
mod step;
mod world;

use anyhow::{Context as _, Result, ensure};
use test_support::TestEnv;

use endings::Ending;
use step::Step;
use world::World;

use super::random::Random;

/// Kills every operation at `count` of its steps, evenly spaced; at every step if it has no more.
pub(crate) fn kill(env: &TestEnv, count: u32) -> Result<String> {
    at_steps(env, count, Ending::Killed)
}

/// Answers `count` steps of every operation with the error of a full disk, and runs it with as many
/// amounts of free space.
pub(crate) fn fill(env: &TestEnv, count: u32) -> Result<String> {
    let at_steps = at_steps(env, count, Ending::Full)?;
    let filled = endings::fill_disk(env, count.min(AMOUNTS_MAX))?;
    Ok(format!("{at_steps}; on a full disk: {filled}"))
}

/// Most runs of a command until it comes to a step.
const TRIES: u32 = 10;
/// The most amounts of free space that an operation is run with.
const AMOUNTS_MAX: u32 = 30;

fn at_steps(env: &TestEnv, count: u32, ending: Ending) -> Result<String> {
    let world = World::new(env)?;
    let mut random = Random::new();
    let (mut figures, mut failures) = (Vec::new(), Vec::new());
    for operation in operation::all(&world) {
        let name = operation.name;
        if ending == Ending::Full && operation.needs_kib == 0 {
            continue;
        }
        let undisturbed = operation.undisturbed(&world).context(name)?;
        let can_fail = |step: &&Step| ending == Ending::Killed || !step.may_wake();
        let steps: Vec<&Step> = undisturbed.steps.iter().filter(can_fail).collect();
        let wanted = usize::try_from(count).map_or(steps.len(), |count| count.min(steps.len()));
        let (mut struck, mut old, mut new) = (0, 0, 0);
        let failed_before = failures.len();
        for step in in_order(&steps, wanted, &mut random) {
            if struck + failures.len() - failed_before == wanted {
                break;
            }
            // Which of several threads makes a call is chance.
            let mut tries =
                (0..TRIES).map(|_| endings::end_at(&world, &operation, &undisturbed, step, ending));
            let ended = tries.find(|ended| !matches!(ended, Ok(None)));
            match ended.unwrap_or(Ok(None)) {
                Ok(Some(outcome)) => {
                    struck += 1;
                    old += u32::from(outcome.is_old);
                    new += u32::from(outcome.is_new);
                }
                // Another step takes its place.
                Ok(None) => println!("MISSED  {name} at {step:?}"),
                Err(error) => {
                    println!("FAILED  {name} at {step:?}: {error:?}");
                    failures.push(format!("{name} at {step:?}: {error}"));
                }
            }
        }
        ensure!(
            2 * (struck + failures.len() - failed_before) >= wanted,
            "{name}: only {struck} of {wanted} steps were struck"
        );
        figures.push(format!(
            "{name} {struck} of {} ({} calls; {old} old, {new} new)",
            steps.len(),
            undisturbed.call_count
        ));
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(format!("steps of {}", figures.join(", ")))
}

/// Returns all steps: first `count` at equal distances, from a random first one, then the others.
fn in_order<'a>(steps: &[&'a Step], count: usize, random: &mut Random) -> Vec<&'a Step> {
    if steps.is_empty() {
        return Vec::new();
    }
    let first = random.below(steps.len());
    let place = |index: usize| (first + index) % steps.len();
    let mut places: Vec<usize> = (0..count)
        .map(|index| place(index * steps.len() / count))
        .collect();
    let others = (0..steps.len()).map(place);
    let others: Vec<usize> = others.filter(|one| !places.contains(one)).collect();
    places.extend(others);
    places.into_iter().map(|place| steps[place]).collect()
}
