//! How often a command is asked to end before it is made to.

use std::time::{Duration, Instant};

use tokio::signal::unix::SignalKind;

/// Ctrl-C is one more of the last only within this time.
const IN_A_ROW: Duration = Duration::from_secs(10);
/// Who sends SIGTERM to a process and to its group, as timeout(1) does, sends it twice within this time.
const AT_ONCE: Duration = Duration::from_millis(500);
/// Which Ctrl-C in a row is answered with a warning; the one after it is enough.
const WARNING_AT: u32 = 3;

/// What a signal that came to this process is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worth {
    /// It is for the command.
    Passed,
    /// It is for the command, and the user is told what the next one does.
    Warning,
    /// The command has been asked often enough.
    Enough,
}

/// The signals that came until now.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    interrupts: u32,
    interrupted: Option<Instant>,
    terminated: Option<Instant>,
}

impl Patience {
    /// Counts a signal in.
    pub(crate) fn weigh(&mut self, kind: SignalKind, now: Instant) -> Worth {
        if kind == SignalKind::interrupt() {
            return self.interrupt(now);
        }
        if kind == SignalKind::terminate() {
            let first = *self.terminated.get_or_insert(now);
            if now.saturating_duration_since(first) > AT_ONCE {
                return Worth::Enough;
            }
        }
        Worth::Passed
    }

    fn interrupt(&mut self, now: Instant) -> Worth {
        let last = self.interrupted.replace(now);
        if last.is_none_or(|last| now.saturating_duration_since(last) > IN_A_ROW) {
            self.interrupts = 0;
        }
        self.interrupts += 1;
        match self.interrupts {
            WARNING_AT => Worth::Warning,
            count if count > WARNING_AT => Worth::Enough,
            _ => Worth::Passed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_interrupt_in_a_row_warns_and_the_fourth_is_enough() {
        let mut patience = Patience::default();
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let weigh = |patience: &mut Patience, s| patience.weigh(SignalKind::interrupt(), at(s));
        assert_eq!(weigh(&mut patience, 0), Worth::Passed);
        assert_eq!(weigh(&mut patience, 1), Worth::Passed);
        // Somebody who interrupts one thing after another is not in despair.
        for s in [20, 40, 60, 80] {
            assert_eq!(weigh(&mut patience, s), Worth::Passed);
        }
        assert_eq!(weigh(&mut patience, 81), Worth::Passed);
        assert_eq!(weigh(&mut patience, 82), Worth::Warning);
        assert_eq!(weigh(&mut patience, 83), Worth::Enough);
    }

    #[test]
    fn the_second_request_to_end_is_enough_and_the_echo_of_the_first_is_not() {
        let mut patience = Patience::default();
        let start = Instant::now();
        let kind = SignalKind::terminate();
        assert_eq!(patience.weigh(kind, start), Worth::Passed);
        let echo = start + Duration::from_millis(5);
        assert_eq!(patience.weigh(kind, echo), Worth::Passed);
        assert_eq!(patience.weigh(SignalKind::hangup(), echo), Worth::Passed);
        let later = start + Duration::from_secs(2);
        assert_eq!(patience.weigh(kind, later), Worth::Enough);
    }
}
