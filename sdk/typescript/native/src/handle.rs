use std::future::pending;
use std::sync::Arc;

use bytes::Bytes;
use msb_sdk_binding::{Client, Handle};
use napi::Env;
use napi::bindgen_prelude::{ClassInstance, Object, Uint8Array};
use napi_derive::napi;
use tokio::sync::Notify;

use crate::cancel::NativeCancel;
use crate::outcome::{NativeOutcome, Settlement};

/// An object on which operations are called: the client, a sandbox, a process, a stream.
#[napi]
pub struct NativeHandle {
    client: Client,
    handle: Handle,
}

#[expect(
    clippy::too_many_arguments,
    reason = "JavaScript passes the parameters of the interface, and napi its environment"
)]
#[napi]
impl NativeHandle {
    /// Calls an operation. The promise resolves with a [`NativeOutcome`], also if the operation
    /// fails. An outcome without value and failure is that of a call that was cancelled, or whose
    /// client was closed.
    ///
    /// # Errors
    ///
    /// Node.js refuses to make a promise because the environment ends.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn call<'env>(
        &self,
        env: &'env Env,
        operation: String,
        parameters: String,
        content: Vec<Uint8Array>,
        cancel: Option<ClassInstance<'_, NativeCancel>>,
    ) -> napi::Result<Object<'env>> {
        let (settlement, promise) = Settlement::new(env)?;
        let content = content.iter();
        let content = content.map(|bytes| Bytes::copy_from_slice(bytes)).collect();
        let call = self.handle.call(&operation, &parameters, content);
        let cancel = cancel.map(|cancel| cancel.requested());
        let client = self.client.clone();
        self.client.spawn(async move {
            let outcome = tokio::select! {
                biased;
                () = cancelled(cancel) => NativeOutcome::default(),
                result = call => NativeOutcome::from_result(result, &client),
            };
            settlement.settle(outcome);
        });
        Ok(promise)
    }

    /// Gives the object up without waiting: an owned sandbox ends, a process is killed, a stream is
    /// closed.
    #[napi]
    pub fn close(&self) {
        self.handle.close();
    }
}

impl NativeHandle {
    pub(crate) fn new(client: Client, handle: Handle) -> Self {
        Self { client, handle }
    }
}

/// Waits until a call is cancelled; without end if it cannot be.
async fn cancelled(cancel: Option<Arc<Notify>>) {
    match cancel {
        Some(cancel) => cancel.notified().await,
        None => pending().await,
    }
}
