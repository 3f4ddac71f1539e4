//! Builds the guest agent, static, for the architecture that msb itself is built for.
//!
//! `MSB_AGENT` names a ready-made one instead.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(variable("OUT_DIR"));
    let agent = out.join("msb-agent");
    println!("cargo::rerun-if-env-changed=MSB_AGENT");
    match env::var_os("MSB_AGENT") {
        Some(ready_made) => {
            println!("cargo::rerun-if-changed={}", ready_made.display());
            copy(Path::new(&ready_made), &agent);
        }
        None => copy(&build(&out), &agent),
    }
}

/// Builds with the same compiler and lock file as everything else, in a directory of its own so
/// that the two builds do not wait for each other; every profile of msb shares it.
fn build(out: &Path) -> PathBuf {
    let workspace = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    for source in [
        "crates/agent",
        "crates/agent-protocol",
        "crates/tree-archive",
        "crates/oci-layers",
        "Cargo.lock",
    ] {
        println!(
            "cargo::rerun-if-changed={}",
            workspace.join(source).display()
        );
    }
    // A guest is Linux, whatever the host is.
    let target = format!("{}-unknown-linux-gnu", variable("CARGO_CFG_TARGET_ARCH"));
    let directory = target_directory(out).join("agent");
    let status = Command::new(variable("CARGO"))
        .current_dir(&workspace)
        .args([
            "build",
            "--package",
            "msb-agent",
            "--locked",
            "--profile",
            "agent",
        ])
        .args(["--target", &target])
        .arg("--target-dir")
        .arg(&directory)
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .status()
        .unwrap_or_else(|error| panic!("cannot run cargo for the guest agent: {error}"));
    assert!(
        status.success(),
        "the guest agent does not build for {target}"
    );
    directory.join(target).join("agent/msb-agent")
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
