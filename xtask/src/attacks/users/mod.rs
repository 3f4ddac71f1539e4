//! What another user of the host can do to somebody's `MSB_HOME` and sandboxes: nothing.

mod intruder;
mod victim;

pub(crate) use intruder::intrude;

use anyhow::{Result, ensure};

use super::{Setting, Tally};
use intruder::Intruder;
use victim::Victim;

/// Makes the attacks on a home with a sandbox that runs.
pub(super) fn attack(setting: &Setting, tally: &mut Tally) -> Result<()> {
    let victim = Victim::start(setting.bed)?;
    let intruder = Intruder::new(victim.home())?;
    tally.note(
        "another user opens, locks, lists and calls nothing in MSB_HOME",
        everything(&victim, &intruder),
    );
    victim.remove()
}

fn everything(victim: &Victim, intruder: &Intruder) -> Result<String> {
    let paths = victim.paths()?;
    let done = intruder.intrude(&paths)?;
    ensure!(
        done.is_empty(),
        "{} of the attempts on {} paths succeeded:\n{}",
        done.len(),
        paths.len(),
        done.join("\n")
    );
    Ok(format!("0 of {} paths", paths.len()))
}
