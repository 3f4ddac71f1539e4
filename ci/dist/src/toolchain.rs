//! The linker of a release: zig, which links against an older glibc than this host has.
//!
//! It is installed from Python's package registry into a virtual environment below
//! `target/xtask/dist`, so the host does not change.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use fs_err as fs;
use test_fixtures::build::cargo;
use test_fixtures::command::{quiet, step};
use test_fixtures::{lock, paths, tools};

/// The versions of the tools.
const REQUIREMENTS: &str = include_str!("../requirements.txt");

/// The installed tools.
#[derive(Debug)]
pub(crate) struct Toolchain {
    programs: PathBuf,
}

impl Toolchain {
    /// Installs the tools, unless these versions are installed.
    ///
    /// # Errors
    /// If Python or a tool cannot be installed.
    pub(crate) fn install() -> Result<Self> {
        tools::install_for_releases()?;
        let _lock = lock::hold("dist-tools")?;
        let environment = paths::kept("dist/tools")?;
        let programs = environment.join("bin");
        let installed = environment.join("requirements.txt");
        if fs::read_to_string(&installed).ok().as_deref() != Some(REQUIREMENTS) {
            step("install the linker of releases (zig)");
            quiet(
                Command::new("python3")
                    .args(["-m", "venv"])
                    .arg(&environment),
            )?;
            let requirements = environment.join("wanted.txt");
            fs::write(&requirements, REQUIREMENTS)?;
            let mut pip = Command::new(programs.join("pip"));
            quiet(
                pip.args(["install", "--quiet", "--requirement"])
                    .arg(&requirements),
            )?;
            fs::rename(&requirements, &installed)?;
        }
        Ok(Self { programs })
    }

    /// Returns a command that builds with these tools: `cargo zigbuild`.
    ///
    /// # Errors
    /// If `PATH` cannot be extended.
    pub(crate) fn zigbuild(&self) -> Result<Command> {
        let mut build = cargo();
        let path = env::var_os("PATH").unwrap_or_default();
        let directories = std::iter::once(self.programs.clone()).chain(env::split_paths(&path));
        build
            .env("PATH", env::join_paths(directories)?)
            .arg("zigbuild");
        Ok(build)
    }
}

/// Returns the flags of the compiler that keep the paths of this host out of the programs.
///
/// # Errors
/// If the directory of cargo is unknown.
pub(crate) fn without_paths() -> Result<String> {
    let named = env::var_os("CARGO_HOME").filter(|home| !home.is_empty());
    let cargo_home = match named {
        Some(home) => PathBuf::from(home),
        None => env::home_dir()
            .context("this user has no home directory")?
            .join(".cargo"),
    };
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let root = paths::root();
    Ok([remap(&root, "/msb"), remap(&cargo_home, "/cargo")].join(" "))
}

/// Returns the value of `RUSTFLAGS` with more flags.
pub(crate) fn flags(more: &str) -> OsString {
    let mut flags = env::var_os("RUSTFLAGS").unwrap_or_default();
    flags.push(" ");
    flags.push(more);
    flags
}
