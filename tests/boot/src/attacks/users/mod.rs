//! Attacks of another user of the host on a `MSB_HOME` and its sandboxes. They fail under any
//! umask.

mod intruder;
mod stranger;
mod victim;

pub(crate) use intruder::intrude;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use anyhow::{Result, ensure};
use test_support::succeed;

use super::{Setting, Tally};
use intruder::Intruder;
use stranger::Stranger;
use victim::Victim;

/// Makes the attacks on a home with a running sandbox, all of which this msb has made.
pub(super) fn attack(setting: &Setting, tally: &mut Tally) -> Result<()> {
    let victim = Victim::start(setting.env)?;
    let intruder = Intruder::new(victim.home())?;
    tally.note(
        "another user opens, locks, lists and calls nothing in MSB_HOME",
        everything(&victim, &intruder),
    );
    tally.note(
        "everything in MSB_HOME is its owner's alone by its own mode",
        modes(&victim),
    );
    tally.note(
        "a MSB_HOME that stood open is closed by the next command",
        opened(&victim, &intruder),
    );
    tally.note(
        "a stranger's process whose number is left in the sandbox's directory is not killed",
        stranger(&victim),
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

fn modes(victim: &Victim) -> Result<String> {
    let paths = victim.paths()?;
    let mut open = Vec::new();
    for path in &paths {
        // A path removed in the meantime does not count.
        let Ok(found) = fs::symlink_metadata(path) else {
            continue;
        };
        let mode = found.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            open.push(format!("{mode:03o} {}", path.display()));
        }
    }
    ensure!(open.is_empty(), "{}", open.join("\n"));
    Ok(format!("{} paths", paths.len()))
}

fn opened(victim: &Victim, intruder: &Intruder) -> Result<String> {
    fs::set_permissions(victim.home(), Permissions::from_mode(0o777))?;
    let before = intruder.intrude(&victim.paths()?)?;
    let is_inside = |done: &&String| !done.ends_with(&victim.home().display().to_string());
    let inside: Vec<&String> = before.iter().filter(is_inside).collect();
    ensure!(inside.is_empty(), "while it stood open: {inside:?}");
    ensure!(
        !before.is_empty(),
        "nothing succeeds on a directory that is open"
    );
    succeed(&mut victim.msb(&["ls"]))?;
    everything(victim, intruder)
}

fn stranger(victim: &Victim) -> Result<String> {
    let mut stranger = Stranger::start()?;
    let directory = victim.directory()?;
    for name in ["vmm.pid", "machine.lock"] {
        fs::write(directory.join(name), stranger.number().to_string())?;
    }
    victim.kill()?;
    // A signal arrives within this time.
    std::thread::sleep(Duration::from_millis(200));
    stranger.expect_alive()?;
    Ok("it lives, and the machine does not".to_owned())
}
