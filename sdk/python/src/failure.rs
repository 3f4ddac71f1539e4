use bytes::Bytes;
use msb_sdk_binding::Failure;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

pyo3::create_exception!(
    _native,
    NativeFailure,
    PyException,
    "A failed operation: its description as JSON, and the output of a command up to the failure."
);

/// Returns the failure as an exception, whose arguments are the description and the content.
pub(crate) fn exception(py: Python<'_>, failure: Failure) -> PyErr {
    let content = python_bytes(py, &failure.content);
    NativeFailure::new_err((failure.value, content))
}

/// Returns copies of the content as Python's `bytes`.
pub(crate) fn python_bytes(py: Python<'_>, content: &[Bytes]) -> Vec<Py<PyBytes>> {
    let copy = |bytes: &Bytes| PyBytes::new(py, bytes).unbind();
    content.iter().map(copy).collect()
}
