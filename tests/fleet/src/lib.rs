//! Tests of the runtime `io.containerd.msb.v1` under a containerd.
//!
//! Each test is registered by its name: `cargo test -p fleet NAME` runs those with NAME in theirs. They need root, as
//! containerd does.

mod ctr;
mod scene;

use std::process::ExitCode;

use test_support::harness;

/// Runs the tests that the arguments of this program select.
#[must_use]
pub fn main() -> ExitCode {
    let name = "ctr::containers_live_in_machines_and_leave_nothing";
    harness::run(|_| vec![harness::test(name, ctr::run)])
}
