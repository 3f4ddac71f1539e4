//! Builds the guest kernel from a pinned source package of Debian and the fragments of
//! `kernel-config/`, and prints the path of the stripped `vmlinux`.
//!
//! A kernel is built once for each set of inputs and kept below the user's cache directory:
//!
//! ```text
//! source         Debian's package, by version and SHA-256
//! configuration  the fragments, on top of the kernel's allnoconfig
//! compile        patches/, make vmlinux, with a fixed identity, and strip
//! cache          ~/.cache/msb/kernel/DIGEST/vmlinux, by the digest of all of it
//! ```

mod cache;
mod compile;
mod configuration;
mod source;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Arg, Command};
use test_fixtures::command::step;
use test_fixtures::{lock, paths, tools};

use crate::configuration::Configuration;

/// The only architecture so far. The fragments are written for it.
const ARCHITECTURE: &str = "x86_64";

#[expect(clippy::print_stdout, reason = "the path is the program's result")]
fn main() -> Result<()> {
    let arch = Arg::new("arch")
        .long("arch")
        .help("Architecture of the guest")
        .default_value(ARCHITECTURE);
    let matches = Command::new("cargo xtask kernel-build")
        .about("Build the guest kernel and print the path of its vmlinux")
        .arg(arch)
        .get_matches();
    let arch = matches.get_one::<String>("arch").map(String::as_str);
    ensure!(
        arch == Some(ARCHITECTURE),
        "the fragments of kernel-config are for x86_64 only"
    );
    println!("{}", kernel()?.display());
    Ok(())
}

/// Returns the path of the kernel, which is built if no kernel of these inputs is in the cache.
fn kernel() -> Result<PathBuf> {
    tools::install_for_kernel()?;
    let configuration = Configuration::read(&paths::root().join("kernel-config"))?;
    let kept = cache::path(&[
        source::SHA256,
        configuration.text(),
        compile::PATCHES,
        compile::IDENTITY,
        &compile::toolchain()?,
    ])?;
    let _lock = lock::hold("kernel-build")?;
    if kept.exists() {
        return Ok(kept);
    }
    let tree = source::unpack()?;
    step("configure the guest kernel");
    configuration.apply(&tree)?;
    step("compile the guest kernel: some ten minutes on two cores");
    cache::keep(&compile::vmlinux(&tree)?, &kept)?;
    Ok(kept)
}
