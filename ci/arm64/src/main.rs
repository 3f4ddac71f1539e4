//! Tries msb for hosts that nobody has here: `cargo xtask arm64`.
//!
//! ```text
//! toolchain     a Rust compiler with the standard library for arm64: Debian's, unpacked
//! emulation     qemu-user, which executes programs for arm64 on this host
//! build         msb for arm64, with the agent inside
//! unit_tests    the tests of the workspace's crates, each executed by qemu-user
//! guest         an arm64 image in an arm64 guest: msb under qemu-user, the guest under QEMU
//! macos         type checks for macOS, as far as they go without Apple's files
//! ```
//!
//! It takes the better part of an hour, so it is no part of the tests that run for every change.

mod build;
mod emulation;
mod guest;
mod image;
mod macos;
mod toolchain;
mod unit_tests;

use anyhow::{Result, ensure};
use clap::{Arg, Command};
use test_fixtures::paths;

use crate::emulation::Emulation;
use crate::toolchain::Toolchain;

/// The parts, in the order in which they run.
const PARTS: [&str; 3] = ["unit-tests", "guest", "macos"];

fn main() -> Result<()> {
    let parts = Arg::new("part")
        .num_args(0..)
        .value_parser(PARTS)
        .help("What to try; everything unless a part is named");
    let matches = Command::new("cargo xtask arm64")
        .about("Build msb for arm64, run its unit tests and boot a guest under emulation")
        .arg(parts)
        .get_matches();
    ensure!(
        cfg!(all(target_os = "linux", target_arch = "x86_64")),
        "this is for Linux on x86-64; on arm64, run 'cargo xtask test'"
    );
    let named: Vec<&String> = matches.get_many("part").into_iter().flatten().collect();
    let is_wanted = |part: &str| named.is_empty() || named.iter().any(|each| *each == part);
    let directory = paths::kept("arm64")?;
    let toolchain = Toolchain::install(&directory)?;
    if is_wanted("unit-tests") || is_wanted("guest") {
        let _emulation = Emulation::start()?;
        if is_wanted("unit-tests") {
            unit_tests::run(&toolchain)?;
        }
        if is_wanted("guest") {
            guest::run(&toolchain)?;
        }
    }
    if is_wanted("macos") {
        macos::check(&toolchain)?;
    }
    Ok(())
}
