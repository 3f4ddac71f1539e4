//! Tests that compare msb with other programs, each registered by its name.
//!
//! `cargo test -p oracle NAME` runs the tests with NAME in theirs. `cargo test -p oracle -- --list`
//! prints all names.
//!
//! | names | comparison |
//! |---|---|
//! | `fidelity::…` | each case of layer semantics with umoci or a plain archive, host and guest |
//! | `engines::…` | hostile and random layers with the appliers of containerd, moby and umoci |
//! | `guest_changes::…` | random changes made in a guest, committed and applied, with all appliers |
//! | `erofs::…` | random trees as EROFS images through every reader |
//! | `ext4::…` | ext4 images with e2fsck, mke2fs, resize2fs and the kernel |
//! | `artifacts::…` | the store's files of an image, with fsck.erofs and qemu-img |
//! | `saved::…` | the tar of each layer, by `msb save`, with the one that was loaded |
//! | `stores::…` | two stores of one image; other projects' registries after a push, with skopeo |
//! | `refusals::…` | bad input: a clear error, and nothing left |
//! | `environment::…` | all that a command sees at its start, with docker |
//! | `pages::…` | the page of a benchmark's report, in a browser |

mod artifacts;
mod browser;
mod engines;
mod environment;
mod erofs;
mod ext4;
mod fidelity;
pub mod fuzz_seeds;
mod guest_changes;
mod pages;
mod refusals;
mod registries;
mod saved;
mod stores;

use std::process::ExitCode;

use anyhow::Result;
use test_support::harness::{Arguments, run_tests};

/// Runs the tests that the arguments choose.
///
/// # Errors
/// If a run's files cannot be removed or recorded.
pub fn main() -> Result<ExitCode> {
    let arguments = Arguments::from_args();
    let fidelity = fidelity::Table::new(&arguments);
    let mut tests = fidelity.tests();
    for more in [
        engines::tests,
        guest_changes::tests,
        erofs::tests,
        ext4::tests,
        artifacts::tests,
        saved::tests,
        stores::tests,
        refusals::tests,
        registries::tests,
        pages::tests,
        environment::tests,
    ] {
        tests.extend(more());
    }
    let conclusion = run_tests(&arguments, tests);
    if !conclusion.has_failed() && !arguments.list {
        fidelity.end()?;
    }
    Ok(conclusion.exit_code())
}
