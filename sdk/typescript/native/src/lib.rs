//! The native addon of the TypeScript SDK: the operations of [`msb_sdk_binding`] as promises.
//!
//! The addon has three classes. `NativeClient` opens a client, `NativeHandle` calls operations, and
//! `NativeCancel` cancels one call. Parameters and values are JSON, and bulk data is `Uint8Array`:
//! all types that users see are written in TypeScript, in `sdk/typescript/src`.
//!
//! A call settles its promise from the client's runtime through a thread-safe function that lives
//! as long as the call, so that Node.js exits by itself if no call is under way.

#![allow(
    unsafe_code,
    reason = "the attribute `napi` expands to the unsafe functions that Node.js calls"
)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "the attribute `napi` converts arguments to owned values"
)]

mod cancel;
mod client;
mod handle;
mod outcome;
