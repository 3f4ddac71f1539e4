//! The requests to end a command, by Ctrl-C or SIGTERM, that come before it is forced to.

use std::time::{Duration, Instant};

use tokio::signal::unix::SignalKind;

/// The time within which Ctrl-C counts as a repetition of the last one.
const IN_A_ROW: Duration = Duration::from_secs(10);
/// The time within which a second SIGTERM is an echo of the first: timeout(1) sends it to a process
/// and to its group.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(500);
/// The number of the repeated Ctrl-C that is answered with a warning; the next one is enough.
const WARNING_AT: u32 = 3;

/// The effect of a signal that this process received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalEffect {
    /// The signal is passed to the command.
    PassedOn,
    /// The signal is passed to the command, and the user is warned of the effect of the next one.
    Warning,
    /// The user has asked often enough for the command to end.
    Enough,
}

/// The signals that have been received.
#[derive(Debug, Default)]
pub(crate) struct InterruptCounter {
    interrupts: u32,
    interrupted: Option<Instant>,
    terminated: Option<Instant>,
}

impl InterruptCounter {
    /// Counts a signal and returns its effect.
    pub(crate) fn count(&mut self, kind: SignalKind, now: Instant) -> SignalEffect {
        if kind == SignalKind::interrupt() {
            return self.interrupt(now);
        }
        if kind == SignalKind::terminate() {
            let first = *self.terminated.get_or_insert(now);
            if now.saturating_duration_since(first) > AT_ONCE {
                return SignalEffect::Enough;
            }
        }
        SignalEffect::PassedOn
    }

    fn interrupt(&mut self, now: Instant) -> SignalEffect {
        let last = self.interrupted.replace(now);
        if last.is_none_or(|last| now.saturating_duration_since(last) > IN_A_ROW) {
            self.interrupts = 0;
        }
        self.interrupts += 1;
        match self.interrupts {
            WARNING_AT => SignalEffect::Warning,
            count if count > WARNING_AT => SignalEffect::Enough,
            _ => SignalEffect::PassedOn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_interrupt_in_a_row_warns_and_the_fourth_is_enough() {
        let mut counter = InterruptCounter::default();
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let count =
            |counter: &mut InterruptCounter, s| counter.count(SignalKind::interrupt(), at(s));
        assert_eq!(count(&mut counter, 0), SignalEffect::PassedOn);
        assert_eq!(count(&mut counter, 1), SignalEffect::PassedOn);
        // Single interrupts with long pauses do not add up.
        for s in [20, 40, 60, 80] {
            assert_eq!(count(&mut counter, s), SignalEffect::PassedOn);
        }
        assert_eq!(count(&mut counter, 81), SignalEffect::PassedOn);
        assert_eq!(count(&mut counter, 82), SignalEffect::Warning);
        assert_eq!(count(&mut counter, 83), SignalEffect::Enough);
    }

    #[test]
    fn the_second_request_to_end_is_enough_and_the_echo_of_the_first_is_not() {
        let mut counter = InterruptCounter::default();
        let start = Instant::now();
        let kind = SignalKind::terminate();
        assert_eq!(counter.count(kind, start), SignalEffect::PassedOn);
        let echo = start + Duration::from_millis(5);
        assert_eq!(counter.count(kind, echo), SignalEffect::PassedOn);
        assert_eq!(
            counter.count(SignalKind::hangup(), echo),
            SignalEffect::PassedOn
        );
        let later = start + Duration::from_secs(2);
        assert_eq!(counter.count(kind, later), SignalEffect::Enough);
    }
}
