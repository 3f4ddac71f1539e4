//! Events of a load or a verification, from the threads that work to a function.

use std::fmt;
use std::sync::Arc;

use image_store::{Event, Progress};

use super::PullEvent;

/// The receiver of a pull's events, on the threads that import. It must be quick.
pub type Observer = Arc<dyn Fn(PullEvent) + Send + Sync>;

/// A receiver of progress that passes events on.
struct Observed(Observer);

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observed")
    }
}

impl Progress for Observed {
    fn event(&self, event: &Event<'_>) {
        if let Some(event) = PullEvent::convert(event) {
            (self.0)(event);
        }
    }
}

/// Returns a receiver that passes events on to an observer, if there is one.
pub fn observed(observer: Option<&Observer>) -> Arc<dyn Progress> {
    match observer {
        Some(observer) => Arc::new(Observed(Arc::clone(observer))),
        None => Arc::new(()),
    }
}
