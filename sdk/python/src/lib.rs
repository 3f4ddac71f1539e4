//! The native module of the Python SDK, `msb._native`.
//!
//! It calls operations of msb-sdk by name, and waits for them as Python can be interrupted and
//! cancelled. Everything that users see is the typed Python over it, in `python/msb`.

mod blocking;
mod callbacks;
mod client;
mod failure;
mod handle;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add("Failure", module.py().get_type::<failure::NativeFailure>())?;
    module.add_class::<client::NativeClient>()?;
    module.add_class::<handle::NativeHandle>()?;
    module.add_class::<handle::Pending>()
}
