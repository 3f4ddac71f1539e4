//! Builds the runner that measures in guests, static, for the architecture that msb itself is built
//! for: as the guest agent is built, and beside it, so that what both use is compiled once.
//!
//! `MSB_BENCH_RUNNER` names a ready-made one instead.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(variable("OUT_DIR"));
    let runner = out.join("msb-bench-runner");
    println!("cargo::rerun-if-env-changed=MSB_BENCH_RUNNER");
    match env::var_os("MSB_BENCH_RUNNER") {
        Some(ready_made) => {
            println!("cargo::rerun-if-changed={}", ready_made.display());
            copy(Path::new(&ready_made), &runner);
        }
        None => copy(&build(&out), &runner),
    }
}

fn build(out: &Path) -> PathBuf {
    let workspace = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("..");
    for source in ["bench/runner/src", "bench/runner/Cargo.toml", "Cargo.lock"] {
        let source = workspace.join(source);
        println!("cargo::rerun-if-changed={}", source.display());
    }
    // A guest is Linux, whatever the host is.
    let target = format!("{}-unknown-linux-gnu", variable("CARGO_CFG_TARGET_ARCH"));
    let directory = target_directory(out).join("agent");
    let status = Command::new(variable("CARGO"))
        .current_dir(&workspace)
        .args(["build", "--package", "msb-bench-runner", "--locked"])
        .args(["--profile", "agent", "--target", &target])
        .arg("--target-dir")
        .arg(&directory)
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .status()
        .unwrap_or_else(|error| panic!("cannot run cargo for the runner: {error}"));
    assert!(status.success(), "the runner does not build for {target}");
    directory.join(target).join("agent/msb-bench-runner")
}

/// Where cargo builds for: the directory with its tag, above what it gave this program.
fn target_directory(out: &Path) -> &Path {
    out.ancestors()
        .find(|directory| directory.join("CACHEDIR.TAG").exists())
        .unwrap_or(out)
}

fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to)
        .unwrap_or_else(|error| panic!("cannot copy {}: {error}", from.display()));
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
