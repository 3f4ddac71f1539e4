//! The requests to end a command, by Ctrl-C or SIGTERM, that come before it is forced to.

use std::time::{Duration, Instant};

use tokio::signal::unix::SignalKind;

/// The time within which Ctrl-C counts as a repetition of the last one.
const IN_A_ROW: Duration = Duration::from_secs(10);
/// The time within which a second SIGTERM is an echo of the first: timeout(1) sends it to a process
/// and to its group.
const AT_ONCE: Duration = Duration::from_millis(500);
/// The number of the repeated Ctrl-C that is answered with a warning; the next one is enough.
const WARNING_AT: u32 = 3;

/// The effect of a signal that this process received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worth {
    /// The signal is passed to the command.
    Passed,
    /// The signal is passed to the command, and the user is warned of the effect of the next one.
    Warning,
    /// The user has asked often enough for the command to end.
    Enough,
}

/// The signals that have been received.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    interrupts: u32,
    interrupted: Option<Instant>,
    terminated: Option<Instant>,
}

impl Patience {
    /// Counts a signal and returns its effect.
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
        // Single interrupts with long pauses do not add up.
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
