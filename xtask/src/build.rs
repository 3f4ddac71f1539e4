use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::place;
use crate::run::{shown, step};

/// Everything but this program: built together with others its dependencies have other features,
/// and its own file would be replaced while it runs.
const PRODUCT: [&str; 4] = ["--workspace", "--exclude", "xtask", "--locked"];

/// Builds msb for use and gives its path.
pub(crate) fn release() -> Result<PathBuf> {
    step("build msb");
    shown(cargo().args(["build", "--release", "--locked", "--package", "msb"]))?;
    Ok(place::root().join("target/release/msb"))
}

/// Builds the msb that tests use: as the tests themselves are built, so that every dependency is
/// compiled once, and with all of the compiler's checks.
pub(crate) fn msb() -> Result<PathBuf> {
    step("build the tests and their msb");
    shown(cargo().args(["build", "--bins", "--tests"]).args(PRODUCT))?;
    Ok(place::root().join("target/debug/msb"))
}

/// Builds a `tree-dump` that runs in any guest, as the guest agent is built.
pub(crate) fn tree_dump() -> Result<PathBuf> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let directory = place::root().join("target/agent");
    shown(
        cargo()
            .args([
                "build",
                "--locked",
                "--package",
                "testkit",
                "--bin",
                "tree-dump",
            ])
            .args(["--profile", "agent"])
            .args(["--target", &target])
            .arg("--target-dir")
            .arg(&directory)
            .env("RUSTFLAGS", "-C target-feature=+crt-static"),
    )?;
    Ok(directory.join(target).join("agent/tree-dump"))
}

/// Every test of the product.
pub(crate) fn tests() -> Command {
    let mut tests = cargo();
    tests.arg("test").args(PRODUCT);
    tests
}

/// Every test of these recipes.
pub(crate) fn own_tests() -> Command {
    let mut tests = cargo();
    tests.args(["test", "--package", "xtask", "--locked"]);
    tests
}

/// Cargo in the repository, its messages on standard error.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(place::root());
    cargo
}
