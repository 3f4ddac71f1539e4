//! The commands that build and test everything but this program.

use std::process::Command;

use test_fixtures::build::cargo;

/// The arguments that build everything but this program. Built together with others its
/// dependencies have other features, and its own file would be replaced while it runs.
pub(super) const PRODUCT: [&str; 4] = ["--workspace", "--exclude", "xtask", "--locked"];

/// Returns the command that builds all tests, and the programs and libraries that they run.
pub(crate) fn build() -> Command {
    let mut build = cargo();
    build.args(["build", "--bins", "--lib", "--tests"]);
    // Examples of two crates have the same names; tests of those compile them. The SDK's have an underscore.
    for example in ["*_*", "create", "show", "measure"] {
        build.args(["--example", example]);
    }
    build.args(PRODUCT);
    build
}

/// Returns the command that runs the tests of one file, with the features of [`build`].
pub(crate) fn tests(file: &str) -> Command {
    let mut tests = cargo();
    tests
        .args(["test", "--quiet", "--test", file])
        .args(PRODUCT);
    tests
}
