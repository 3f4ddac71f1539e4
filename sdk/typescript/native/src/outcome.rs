use bytes::Bytes;
use msb_sdk_binding::{Client, Failure, Reply};
use napi::bindgen_prelude::{Object, Uint8Array};
use napi::{Env, JsDeferred};
use napi_derive::napi;

use crate::client::NativeClient;
use crate::handle::NativeHandle;

/// The end of a call.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct NativeOutcome {
    /// The value as JSON; absent if the call failed or was cancelled.
    pub value: Option<String>,
    /// The description of the failure as JSON.
    pub failure: Option<String>,
    /// Bulk data of the value or of the failure.
    pub content: Vec<Uint8Array>,
    /// The object that the operation made.
    pub handle: Option<NativeHandle>,
    /// The client that was opened.
    pub client: Option<NativeClient>,
}

impl NativeOutcome {
    pub(crate) fn opened(client: NativeClient) -> Self {
        Self {
            client: Some(client),
            ..Self::default()
        }
    }

    pub(crate) fn from_result(result: Result<Reply, Failure>, client: &Client) -> Self {
        match result {
            Ok(reply) => Self {
                value: Some(reply.value),
                content: arrays(reply.content),
                handle: reply
                    .handle
                    .map(|handle| NativeHandle::new(client.clone(), handle)),
                ..Self::default()
            },
            Err(failure) => failure.into(),
        }
    }
}

impl From<Failure> for NativeOutcome {
    fn from(failure: Failure) -> Self {
        Self {
            failure: Some(failure.value),
            content: arrays(failure.content),
            ..Self::default()
        }
    }
}

fn arrays(content: Vec<Bytes>) -> Vec<Uint8Array> {
    let content = content.into_iter();
    content.map(|bytes| Uint8Array::new(bytes.into())).collect()
}

type Resolver = Box<dyn FnOnce(Env) -> napi::Result<NativeOutcome>>;

/// The promise of a call. It is settled also if the call's future is dropped because the client is
/// closed: a promise without an end would keep Node.js from exiting.
pub(crate) struct Settlement {
    deferred: Option<JsDeferred<NativeOutcome, Resolver>>,
}

impl Settlement {
    pub(crate) fn new(env: &Env) -> napi::Result<(Self, Object<'_>)> {
        let (deferred, promise) = env.create_deferred()?;
        let deferred = Some(deferred);
        Ok((Self { deferred }, promise))
    }

    /// Resolves the promise.
    pub(crate) fn settle(mut self, outcome: NativeOutcome) {
        self.resolve(outcome);
    }

    fn resolve(&mut self, outcome: NativeOutcome) {
        if let Some(deferred) = self.deferred.take() {
            deferred.resolve(Box::new(move |_| Ok(outcome)));
        }
    }
}

impl Drop for Settlement {
    fn drop(&mut self) {
        self.resolve(NativeOutcome::default());
    }
}
