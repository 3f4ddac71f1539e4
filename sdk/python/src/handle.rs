use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use bytes::Bytes;
use msb_sdk_binding::{Failure, Handle, Reply};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyList, PyTuple};
use tokio::sync::oneshot;

use crate::blocking;
use crate::callbacks::Callback;
use crate::client::ClientShared;
use crate::failure::{exception, python_bytes};

/// One object on which operations are called.
#[pyclass(name = "Handle", module = "msb._native", frozen)]
#[derive(Clone)]
pub(crate) struct NativeHandle {
    handle: Handle,
    client: Arc<ClientShared>,
}

impl NativeHandle {
    pub(crate) const fn new(handle: Handle, client: Arc<ClientShared>) -> Self {
        Self { handle, client }
    }

    /// Waits without an end if the interpreter is about to end and this call failed for it: a
    /// daemon thread must not report a failure that is only the end of the program.
    fn wait_for_exit(&self, py: Python<'_>, result: &Result<Reply, Failure>) {
        if result.is_err() && self.client.is_at_exit.load(Ordering::Relaxed) {
            py.detach(|| {
                loop {
                    thread::park();
                }
            });
        }
    }
}

#[pymethods]
impl NativeHandle {
    /// Calls an operation and waits for it.
    fn call_blocking<'py>(
        &self,
        py: Python<'py>,
        operation: &str,
        parameters: &str,
        content: Vec<PyBackedBytes>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let call = self.handle.call(operation, parameters, shared(content));
        let result = blocking::wait(py, call)?;
        self.wait_for_exit(py, &result);
        let reply = result.map_err(|failure| exception(py, failure))?;
        reply_tuple(py, self, reply)
    }

    /// Calls an operation; `callback` is called with its result on another thread.
    #[expect(
        clippy::too_many_arguments,
        reason = "Python passes the parameters of the interface, and PyO3 its token"
    )]
    fn call(
        &self,
        operation: &str,
        parameters: &str,
        content: Vec<PyBackedBytes>,
        callback: Py<PyAny>,
        py: Python<'_>,
    ) -> PyResult<Pending> {
        if self.client.client.is_forked() {
            // No thread of this process would call back.
            return Err(exception(py, Failure::forked()));
        }
        let call = self.handle.call(operation, parameters, shared(content));
        let (cancel, cancelled) = oneshot::channel::<()>();
        let promise = Promise(Some((callback, self.clone())));
        self.client.client.spawn(async move {
            tokio::select! {
                biased;
                _ = cancelled => promise.forget(),
                result = call => promise.keep(result),
            }
        });
        Ok(Pending {
            cancel: Mutex::new(Some(cancel)),
        })
    }

    /// Gives the object up without waiting.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.handle.close());
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.handle)
    }
}

/// A call that runs. It is cancelled when it is dropped.
#[pyclass(module = "msb._native", frozen)]
pub(crate) struct Pending {
    cancel: Mutex<Option<oneshot::Sender<()>>>,
}

#[pymethods]
impl Pending {
    /// Cancels the call: its callback is not called any more.
    fn cancel(&self) {
        let mut cancel = self.cancel.lock().unwrap_or_else(PoisonError::into_inner);
        drop(cancel.take());
    }
}

/// A function that is to be called with a result. If it is dropped, the function hears that the
/// client was closed.
struct Promise(Option<(Py<PyAny>, NativeHandle)>);

impl Promise {
    fn keep(mut self, result: Result<Reply, Failure>) {
        self.send(result);
    }

    fn forget(mut self) {
        self.0 = None;
    }

    fn send(&mut self, result: Result<Reply, Failure>) {
        if let Some((function, handle)) = self.0.take() {
            let client = handle.client.clone();
            client.callbacks.send(Callback {
                function,
                handle,
                result,
            });
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.send(Err(Failure::client_closed()));
    }
}

/// Returns the reply as `(value, content, handle)`.
pub(crate) fn reply_tuple<'py>(
    py: Python<'py>,
    parent: &NativeHandle,
    reply: Reply,
) -> PyResult<Bound<'py, PyTuple>> {
    let content = PyList::new(py, python_bytes(py, &reply.content))?;
    let handle = reply
        .handle
        .map(|handle| NativeHandle::new(handle, parent.client.clone()));
    (reply.value, content, handle).into_pyobject(py)
}

/// Shares Python's `bytes` without a copy.
fn shared(content: Vec<PyBackedBytes>) -> Vec<Bytes> {
    content.into_iter().map(Bytes::from_owner).collect()
}
