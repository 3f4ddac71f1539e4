//! Builds the guest kernel from a pinned source package of Debian and the fragments of
//! `kernel-config/`, and prints the path of the stripped `vmlinux`.
//!
//! A kernel is built once for each set of inputs and kept below the user's cache directory:
//!
//! ```text
//! source         Debian's package, by version and SHA-256: kernel-config/source.json
//! configuration  the fragments, on top of the kernel's allnoconfig
//! compile        patches/, make vmlinux, with a fixed identity, and strip
//! offer          the text that says from which source the kernel was built
//! cache          ~/.cache/msb/kernel/DIGEST/vmlinux, by the digest of all of it; the source beside it
//! ```

mod cache;
mod compile;
mod configuration;
mod groups;
mod offer;
mod source;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Arg, ArgAction, Command};
use test_fixtures::command::step;
use test_fixtures::{lock, paths, tools};

use crate::configuration::Configuration;
use crate::source::Pin;

/// The only architecture so far. The fragments are written for it.
const ARCHITECTURE: &str = "x86_64";

#[expect(clippy::print_stdout, reason = "the path is the program's result")]
fn main() -> Result<()> {
    let arch = Arg::new("arch")
        .long("arch")
        .help("Architecture of the guest")
        .default_value(ARCHITECTURE);
    let if_built = Arg::new("if-built")
        .long("if-built")
        .action(ArgAction::SetTrue)
        .help("Print nothing if the kernel was not built before");
    let update = Arg::new("update")
        .long("update")
        .action(ArgAction::SetTrue)
        .conflicts_with("if-built")
        .help(
            "Move kernel-config/source.json to the newest source that Debian offers, and build it",
        );
    let each_without = Arg::new("each-without")
        .long("each-without")
        .action(ArgAction::SetTrue)
        .conflicts_with_all(["if-built", "update"])
        .help(
            "Build kernels that each lack a section of guest.config and hardening.config instead",
        );
    let matches = Command::new("cargo xtask kernel-build")
        .about("Build the guest kernel and print the path of its vmlinux")
        .args([arch, if_built, update, each_without])
        .get_matches();
    let arch = matches.get_one::<String>("arch").map(String::as_str);
    ensure!(
        arch == Some(ARCHITECTURE),
        "the fragments of kernel-config are for x86_64 only"
    );
    if matches.get_flag("update") {
        move_pin()?;
    }
    if matches.get_flag("each-without") {
        for kernel in kernels_without_each()? {
            println!("{}", kernel.display());
        }
        return Ok(());
    }
    let is_wanted = !matches.get_flag("if-built");
    if let Some(kernel) = kernel(is_wanted)? {
        println!("{}", kernel.display());
    }
    Ok(())
}

/// Moves the pin of the source to the newest version.
fn move_pin() -> Result<()> {
    let directory = paths::root().join("kernel-config");
    let (old, new) = (Pin::read(&directory)?, Pin::newest()?);
    step(&format!(
        "the source was {}, and is {}",
        old.version, new.version
    ));
    new.write(&directory)
}

/// Builds a kernel without each section of the optional fragments.
fn kernels_without_each() -> Result<Vec<PathBuf>> {
    tools::install_for_kernel()?;
    let directory = paths::root().join("kernel-config");
    let _lock = lock::hold("kernel-build")?;
    groups::build(&Pin::read(&directory)?, &Configuration::read(&directory)?)
}

/// Returns the path of the kernel in the cache. If it is not there it is built, or `None` is
/// returned if it is not wanted.
fn kernel(is_wanted: bool) -> Result<Option<PathBuf>> {
    if is_wanted {
        tools::install_for_kernel()?;
    }
    let directory = paths::root().join("kernel-config");
    let pin = Pin::read(&directory)?;
    let configuration = Configuration::read(&directory)?;
    let toolchain = compile::toolchain()?;
    let mut inputs = vec![
        &pin.sha256,
        configuration.text(),
        compile::IDENTITY,
        &toolchain,
    ];
    inputs.extend(compile::PATCHES.map(|(_, patch)| patch));
    let entry = cache::Entry::new(&inputs)?;
    let _lock = lock::hold("kernel-build")?;
    if !entry.vmlinux().exists() {
        if !is_wanted {
            return Ok(None);
        }
        build(&pin, &configuration, &toolchain, &entry)?;
    }
    Ok(Some(entry.vmlinux()))
}

fn build(
    pin: &Pin,
    configuration: &Configuration,
    toolchain: &str,
    entry: &cache::Entry,
) -> Result<()> {
    let tree = source::unpack(pin)?;
    compile::patch(&tree)?;
    step("configure the guest kernel");
    let config = configuration.apply(&tree)?;
    step("compile the guest kernel: some ten minutes on two cores");
    let vmlinux = compile::vmlinux(&tree)?;
    let offer = offer::text(&vmlinux, pin, toolchain);
    let mut source = vec![("SOURCE.md", offer.as_str()), ("config", config.as_str())];
    source.extend(compile::PATCHES);
    entry.keep(&vmlinux, &source)
}
