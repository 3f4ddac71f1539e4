use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::sandbox;

/// The exit code of a program that a signal ended, less the signal's number.
const EXIT_SIGNAL: u8 = 128;
/// The time that an interrupted benchmark has to remove everything that it made.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);

enum Event {
    Ended(Result<u8>),
    Interrupted(i32),
}

/// Returns the exit code of `work`, or 128 plus the number of the signal that interrupted it.
///
/// After a signal the benchmark's sandboxes are removed. Without them the benchmark fails, and
/// removes everything else that it made.
///
/// # Errors
/// If `work` fails, or signals cannot be awaited.
pub(crate) fn interruptible(work: impl FnOnce() -> Result<u8> + Send + 'static) -> Result<u8> {
    let (sender, events) = mpsc::channel();
    await_signals(sender.clone())?;
    // Sending fails only if the receiver no longer needs the result.
    thread::spawn(move || sender.send(Event::Ended(work())));
    match events.recv().context("the benchmark was interrupted")? {
        Event::Ended(outcome) => outcome,
        Event::Interrupted(signal) => {
            sandbox::remove_all();
            let _ = events.recv_timeout(LEAVE_TIMEOUT);
            sandbox::remove_all();
            Ok(EXIT_SIGNAL + u8::try_from(signal)?)
        }
    }
}

fn await_signals(sender: Sender<Event>) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot wait for signals")?;
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let _ = sender.send(Event::Interrupted(signal));
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_of_the_work_is_passed_on() {
        assert_eq!(interruptible(|| Ok(1)).expect("the work ends"), 1);
        let error = interruptible(|| anyhow::bail!("no image")).expect_err("the work fails");
        assert_eq!(error.to_string(), "no image");
    }
}
