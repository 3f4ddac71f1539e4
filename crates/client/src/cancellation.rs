//! The cancellation of work on a thread, which goes on until it looks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that work on a thread looks at.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<AtomicBool>);

/// The operation that waits for the work. Dropping it cancels the work.
#[derive(Debug)]
pub struct CancelOnDrop(Cancellation);

impl Cancellation {
    /// Returns a flag, and what sets it when it is dropped.
    pub fn on_drop() -> (Self, CancelOnDrop) {
        let flag = Self::default();
        (flag.clone(), CancelOnDrop(flag))
    }

    /// Returns true once the work is not waited for any more.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}
