//! Builds the guest kernel from a pinned source package of Debian and the fragments of
//! `kernel-config/`, and prints the path of the file that VMMs boot: a stripped
//! `vmlinux`, or an `Image` for 64-bit ARM.
//!
//! A kernel is built once for each set of inputs and kept below the user's cache directory:
//!
//! ```text
//! source         Debian's package, by version and SHA-256: kernel-config/source.json
//! configuration  the fragments, on top of the kernel's allnoconfig
//! compile        patches/, make vmlinux or Image, with a fixed identity, and strip
//! offer          the text that says from which source the kernel was built
//! cache          ~/.cache/msb/kernel/DIGEST/, by the digest of all of it; the source beside the kernel
//! ```

mod architecture;
mod cache;
mod compile;
mod configuration;
mod groups;
mod offer;
mod source;

use std::env::consts::ARCH;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, Command};
use test_fixtures::command::step;
use test_fixtures::{lock, paths, tools};

use crate::architecture::Architecture;
use crate::configuration::Configuration;
use crate::source::Pin;

#[expect(clippy::print_stdout, reason = "the path is the program's result")]
fn main() -> Result<()> {
    let arch = Arg::new("arch")
        .long("arch")
        .help("Architecture of the guest; another than this host's is cross-compiled")
        .value_parser(architecture::ALL.each_ref().map(|each| each.name))
        .default_value(ARCH);
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
    let filesystems = Arg::new("filesystems")
        .long("filesystems")
        .action(ArgAction::SetTrue)
        .conflicts_with_all(["update", "each-without"])
        .help("Build the kernel that also has the filesystems of disk images, XFS and Btrfs");
    let each_without = Arg::new("each-without")
        .long("each-without")
        .action(ArgAction::SetTrue)
        .conflicts_with_all(["if-built", "update"])
        .help(
            "Build kernels that each lack a section of guest.config and hardening.config instead",
        );
    let matches = Command::new("cargo xtask kernel-build")
        .about("Build the guest kernel and print its path")
        .args([arch, if_built, update, filesystems, each_without])
        .get_matches();
    let named = matches.get_one::<String>("arch");
    let architecture = named.and_then(|name| Architecture::named(name));
    let architecture = architecture.context("the fragments are not written for this host")?;
    if matches.get_flag("update") {
        move_pin()?;
    }
    if matches.get_flag("each-without") {
        for kernel in kernels_without_each(architecture)? {
            println!("{}", kernel.display());
        }
        return Ok(());
    }
    let is_wanted = !matches.get_flag("if-built");
    let with_filesystems = matches.get_flag("filesystems");
    if let Some(kernel) = kernel(architecture, with_filesystems, is_wanted)? {
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
fn kernels_without_each(architecture: &'static Architecture) -> Result<Vec<PathBuf>> {
    tools::install_for_kernel(architecture.name)?;
    let directory = paths::root().join("kernel-config");
    let _lock = lock::hold("kernel-build")?;
    let pin = Pin::read(&directory)?;
    let toolchain = compile::toolchain(architecture)?;
    let configuration = Configuration::read(&directory, architecture, false)?;
    groups::build(architecture, &pin, &configuration, |without| {
        entry(architecture, &pin, without, &toolchain)
    })
}

/// Returns the path of the kernel in the cache. If it is not there it is built, or `None` is
/// returned if it is not wanted.
fn kernel(
    architecture: &'static Architecture,
    with_filesystems: bool,
    is_wanted: bool,
) -> Result<Option<PathBuf>> {
    if is_wanted {
        tools::install_for_kernel(architecture.name)?;
    }
    let directory = paths::root().join("kernel-config");
    let pin = Pin::read(&directory)?;
    let configuration = Configuration::read(&directory, architecture, with_filesystems)?;
    let toolchain = compile::toolchain(architecture)?;
    let entry = entry(architecture, &pin, &configuration, &toolchain)?;
    let _lock = lock::hold("kernel-build")?;
    if !entry.kernel().exists() {
        if !is_wanted {
            return Ok(None);
        }
        build(architecture, &pin, &configuration, &toolchain, &entry)?;
    }
    Ok(Some(entry.kernel()))
}

/// Returns the place in the cache for the kernel of these inputs.
fn entry(
    architecture: &Architecture,
    pin: &Pin,
    configuration: &Configuration,
    toolchain: &str,
) -> Result<cache::Entry> {
    let mut inputs = vec![
        pin.sha256.as_str(),
        configuration.text(),
        architecture.way,
        toolchain,
    ];
    inputs.extend(architecture.patches.iter().map(|(_, patch)| patch));
    cache::Entry::new(&inputs, architecture.kernel)
}

fn build(
    architecture: &Architecture,
    pin: &Pin,
    configuration: &Configuration,
    toolchain: &str,
    entry: &cache::Entry,
) -> Result<()> {
    let tree = source::unpack(pin)?;
    compile::patch(architecture, &tree)?;
    step(&format!(
        "configure the guest kernel for {}",
        architecture.name
    ));
    let config = configuration.apply(&tree)?;
    step("compile the guest kernel: some ten minutes on two cores");
    let kernel = compile::kernel(architecture, &tree)?;
    let offer = offer::text(architecture, &kernel, pin, toolchain);
    let mut source = vec![("SOURCE.md", offer.as_str()), ("config", config.as_str())];
    source.extend(architecture.patches);
    entry.keep(&kernel, &source)
}
