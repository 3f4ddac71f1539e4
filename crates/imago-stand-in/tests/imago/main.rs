//! Tests of the disks that libkrun gets, through the calls that libkrun makes.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod as_libkrun;
mod expected;
mod refusals;
mod registered;
mod requests;
