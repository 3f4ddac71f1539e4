use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use msb_sdk_binding::Client;
use pyo3::prelude::*;

use crate::callbacks::Callbacks;
use crate::failure::exception;
use crate::handle::NativeHandle;

/// A client with its threads.
#[pyclass(name = "Client", module = "msb._native", frozen)]
pub(crate) struct NativeClient {
    shared: Arc<ClientShared>,
}

pub(crate) struct ClientShared {
    pub(crate) client: Client,
    pub(crate) callbacks: Callbacks,
    /// True when the interpreter is about to end.
    pub(crate) is_at_exit: AtomicBool,
}

#[pymethods]
impl NativeClient {
    /// Opens a client.
    #[new]
    fn new(py: Python<'_>, parameters: &str) -> PyResult<Self> {
        let client = py.detach(|| Client::open(parameters));
        let client = client.map_err(|failure| exception(py, failure))?;
        let shared = ClientShared {
            client,
            callbacks: Callbacks::default(),
            is_at_exit: AtomicBool::new(false),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Returns the root handle.
    fn handle(&self) -> NativeHandle {
        NativeHandle::new(self.shared.client.handle(), self.shared.clone())
    }

    /// Returns true if this process was forked from the one that opened the client.
    #[getter]
    fn is_forked(&self) -> bool {
        self.shared.client.is_forked()
    }

    /// Closes every handle and ends the threads, waiting at most `timeout_s` seconds.
    #[pyo3(signature = (timeout_s, at_exit=false))]
    fn shutdown(&self, py: Python<'_>, timeout_s: f64, at_exit: bool) {
        if self.shared.client.is_forked() {
            return;
        }
        self.shared.is_at_exit.fetch_or(at_exit, Ordering::Relaxed);
        let timeout = Duration::try_from_secs_f64(timeout_s).unwrap_or_default();
        py.detach(|| {
            self.shared.client.shutdown(timeout);
            self.shared.callbacks.end();
        });
    }
}
