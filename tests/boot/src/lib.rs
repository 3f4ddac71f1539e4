//! Tests that boot guests, each registered by its name.
//!
//! `cargo test -p boot NAME` runs the tests with NAME in theirs. `cargo test -p boot -- --list`
//! prints all names.
//!
//! | names | subject |
//! |---|---|
//! | `checks::machine::boot_…` | behaviour that users rely on and that depends on the VMM |
//! | `checks::guest::boot_…` | exchanges of guest and host, which are the same for every VMM |
//! | `checks::disk::boot_…` | snapshots, rollbacks, and roots other than an overlay |
//! | `checks::git::boot_…` | a repository of git in a staged directory, with an image that has git |
//! | `docker::boot_…` | an invocation against docker's documentation of the same options |
//! | `walk::`, `tree::`, `pulled::` | a whole life in a script; the guest's tree; a real registry |
//! | `kernel::` | each option of `kernel-config`, by use |
//! | `lab::` | walk, checks and tree once more, under libkrun in the KVM lab; those of the disk are long, so `--ignored` |
//! | `sdk::boot_sdk_…` | the SDK, against the msb under test |
//! | `examples::boot_…` | examples of the Rust SDK, as their readers run them |
//! | `conformance::boot_conformance_…` | the behaviours of `sdk/conformance`, with the Rust SDK |
//! | `attacks::…` | SECURITY.md's promises, attacked |
//! | `gallery::boot_…` | images of well-known services; most are long, so `--ignored` |
//! | `soak::boot_…` | crashes, cycles, crowds; long, so `--ignored` |
//! | `filesystems::boot_…` | XFS and Btrfs as roots, on the kernel that has them, and a cloud image; long, so `--ignored` |
//! | `suites::boot_…` | other projects' filesystem suites; long, so `--ignored` |

mod attacks;
mod checks;
mod cloud_image;
mod conformance;
mod disk_images;
mod docker;
mod forged;
mod gallery;
mod guest_tree;
mod kernel_check;
mod lab;
mod owner;
mod pulled;
mod root_filesystems;
mod sdk;
pub mod seccomp_list;
mod soak;
mod suites;
mod tls_upstream;
mod trial;
mod walk;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use test_support::harness::{self, Trial};
use test_support::{TestEnv, schema};

/// Runs the tests that the arguments choose, or the part that another test starts this program for.
///
/// # Errors
/// If a variable of the environment has an unusable value.
pub fn main() -> Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        // Checks the JSON on standard input against a schema.
        Some("--schema") => {
            schema::judge_input(words.get(1).context("--schema needs a name")?)?;
            Ok(ExitCode::SUCCESS)
        }
        // Attacks the paths on standard input as another user.
        Some("--intrude") => {
            attacks::intrude()?;
            Ok(ExitCode::SUCCESS)
        }
        // Owns a sandbox until it is killed.
        Some(owner::OPTION) => {
            owner::run(words.get(1..).unwrap_or_default())?;
            Ok(ExitCode::SUCCESS)
        }
        // Is the supervisor that a hostile agent attacks.
        Some("--supervise") => {
            let directory = words.get(1).context("--supervise needs a directory")?;
            attacks::supervise(Path::new(directory))?;
            Ok(ExitCode::SUCCESS)
        }
        // Prints the tree that a guest sees, with a program that is copied into it.
        Some("--guest-tree") => {
            let env = TestEnv::with_guests("guest-tree")?;
            let program = words.get(1).context("--guest-tree needs a program")?;
            print!("{}", guest_tree::of_guest(&env, Path::new(program))?);
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            let tests = tests()?;
            Ok(harness::run(|_| tests))
        }
    }
}

fn tests() -> Result<Vec<Trial>> {
    let mut tests = checks::tests();
    tests.extend(docker::tests()?);
    for more in [
        walk::tests,
        guest_tree::tests,
        pulled::tests,
        kernel_check::tests,
        attacks::tests,
        soak::tests,
        suites::tests,
        root_filesystems::tests,
        cloud_image::tests,
        sdk::tests,
        conformance::tests,
        lab::tests,
        gallery::tests,
    ] {
        tests.extend(more());
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn every_test_has_a_name_of_its_own() {
        let tests = super::tests().expect("no variable is set");
        let names: BTreeSet<&str> = tests.iter().map(|test| test.name()).collect();
        assert_eq!(names.len(), tests.len());
    }
}
