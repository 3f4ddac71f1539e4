use std::time::{Duration, Instant};

/// The span of a window. Equal events within it are one record.
pub(crate) const SPAN: Duration = Duration::from_secs(1);

/// A limit on the number of events within a second.
#[derive(Debug)]
pub struct Window {
    max: u32,
    since: Instant,
    count: u32,
}

impl Window {
    /// Returns a limit of `max` events, whose first second begins now.
    pub fn new(max: u32, now: Instant) -> Self {
        Self {
            max,
            since: now,
            count: 0,
        }
    }

    /// Counts an event. Returns false if there were too many.
    pub fn admits(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.since) >= SPAN {
            (self.since, self.count) = (now, 0);
        }
        let admits = self.count < self.max;
        self.count += u32::from(admits);
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_events_are_admitted_in_a_span() {
        let now = Instant::now();
        let mut window = Window::new(3, now);
        let mut admitted = |now| (0..5).filter(|_| window.admits(now)).count();
        assert_eq!(admitted(now), 3);
        assert_eq!(admitted(now + SPAN - Duration::from_nanos(1)), 0);
        assert_eq!(admitted(now + SPAN), 3);
        assert_eq!(admitted(now), 0);
    }
}
