use std::sync::Arc;

use napi_derive::napi;
use tokio::sync::Notify;

/// Cancels the one call that it was passed to.
#[napi]
#[derive(Default)]
pub struct NativeCancel {
    requested: Arc<Notify>,
}

#[napi]
impl NativeCancel {
    /// Returns a value that has cancelled nothing.
    #[napi(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the call. A call that begins later is cancelled at once.
    #[napi]
    pub fn cancel(&self) {
        self.requested.notify_one();
    }

    /// Returns the notification that the call waits for.
    pub(crate) fn requested(&self) -> Arc<Notify> {
        Arc::clone(&self.requested)
    }
}
