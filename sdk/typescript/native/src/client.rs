use std::time::Duration;

use msb_sdk_binding::Client;
use napi_derive::napi;

use crate::handle::NativeHandle;
use crate::outcome::NativeOutcome;

/// A client with a runtime of its own.
#[napi]
pub struct NativeClient {
    client: Client,
}

#[napi]
impl NativeClient {
    /// Opens a client, and returns an outcome whose `client` is set unless it failed.
    #[napi]
    #[must_use]
    pub fn open(parameters: String) -> NativeOutcome {
        match Client::open(&parameters) {
            Ok(client) => NativeOutcome::opened(Self { client }),
            Err(failure) => failure.into(),
        }
    }

    /// Returns the handle of the client's own operations.
    #[napi]
    #[must_use]
    pub fn handle(&self) -> NativeHandle {
        NativeHandle::new(self.client.clone(), self.client.handle())
    }

    /// Ends the runtime after at most `timeout_ms`. Later calls fail with `client-closed`.
    #[napi]
    pub fn shutdown(&self, timeout_ms: u32) {
        self.client
            .shutdown(Duration::from_millis(timeout_ms.into()));
    }
}
