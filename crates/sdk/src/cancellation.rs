//! The cancellation of work on a thread, which goes on until it looks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that work on a thread looks at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancellation(Arc<AtomicBool>);

/// The operation that waits for the work. Dropping it cancels the work.
#[derive(Debug)]
pub(crate) struct CancelOnDrop(Cancellation);

impl Cancellation {
    /// Returns a flag, and what sets it when it is dropped.
    pub(crate) fn on_drop() -> (Self, CancelOnDrop) {
        let flag = Self::default();
        (flag.clone(), CancelOnDrop(flag))
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}
