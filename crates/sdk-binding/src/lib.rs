//! The operations of msb-sdk by name, JSON in and out, for bindings to other languages.
//!
//! A binding opens a [`Client`], takes its [`Handle`] and calls operations on it. Parameters and
//! values are JSON, whose field names are those of msb-sdk; bulk data travels beside them as bytes.
//! An operation that makes an object (a sandbox, a process, a stream) returns the handle of it.
//!
//! ```no_run
//! # async fn example() -> Result<(), msb_sdk_binding::Failure> {
//! use msb_sdk_binding::Client;
//!
//! let client = Client::open("{}")?;
//! let run = client.handle().call("sandboxes.run", r#"{"image":"alpine"}"#, Vec::new());
//! let sandbox = run.await?.handle.expect("sandboxes.run returns a sandbox");
//! let exec = sandbox.call("exec", r#"{"argv":["uname","-a"]}"#, Vec::new());
//! let output = exec.await?;
//! println!("{} {:?}", output.value, output.content[0]);
//! sandbox.call("close", "{}", Vec::new()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Every failure is a [`Failure`]: a JSON description of an error of msb-sdk. A panic in an
//! operation becomes one too. Parameters that an operation does not have are refused by name.

mod answer;
mod call_guard;
mod client;
mod failure;
mod field_names;
mod handle;
mod object;
mod operation;
mod operations;
mod parameters;
mod table;

pub use client::Client;
pub use failure::Failure;
pub use handle::{Handle, Reply};
pub use operation::OperationInfo;
