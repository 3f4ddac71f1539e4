//! Builds the static programs that run in guests, for the build scripts of the crates that carry them.
//!
//! Every one is built alike: for the architecture that msb itself is built for, with the same compiler
//! and lock file, in a target directory of their own that every profile of msb shares. What two of
//! them use is compiled once, and no build waits for one that waits for it.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// A program for guests, a package of this workspace.
#[derive(Debug, Clone, Copy)]
pub struct GuestProgram<'a> {
    /// The package, and its only program.
    pub package: &'a str,
    /// The environment variable that names a ready-made one instead.
    pub ready_made: &'a str,
    /// The workspace, from the directory of the package that carries the program.
    pub workspace: &'a str,
    /// What it is built from, from the workspace's directory.
    pub sources: &'a [&'a str],
}

/// Why there is no program.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// This is no build script.
    #[error("cargo did not set {0}")]
    NoBuildScript(&'static str),
    /// Cargo cannot be run.
    #[error("cannot run cargo: {0}")]
    Cargo(#[source] io::Error),
    /// The program does not build for this target.
    #[error("the build for {0} ended with {1}")]
    Failed(String, ExitStatus),
    /// The program at this path cannot be copied.
    #[error("cannot copy {path}: {source}", path = .0.display(), source = .1)]
    Copy(PathBuf, #[source] io::Error),
}

impl GuestProgram<'_> {
    /// Leaves the program in the `OUT_DIR` of the build script that calls this, named as its package,
    /// and tells cargo what it depends on.
    ///
    /// # Errors
    /// It does not build, or the ready-made one cannot be read.
    #[expect(clippy::print_stdout, reason = "cargo reads a build script's output")]
    pub fn build(&self) -> Result<(), BuildError> {
        let out = PathBuf::from(variable("OUT_DIR")?);
        println!("cargo::rerun-if-env-changed={}", self.ready_made);
        let program = match env::var_os(self.ready_made) {
            Some(ready_made) => {
                println!("cargo::rerun-if-changed={}", ready_made.display());
                PathBuf::from(ready_made)
            }
            None => self.compile(&out)?,
        };
        std::fs::copy(&program, out.join(self.package))
            .map(|_| ())
            .map_err(|error| BuildError::Copy(program, error))
    }

    #[expect(clippy::print_stdout, reason = "cargo reads a build script's output")]
    fn compile(&self, out: &Path) -> Result<PathBuf, BuildError> {
        let workspace = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join(self.workspace);
        for source in self.sources {
            let source = workspace.join(source);
            println!("cargo::rerun-if-changed={}", source.display());
        }
        // A guest is Linux, whatever the host is.
        let target = format!("{}-unknown-linux-gnu", variable("CARGO_CFG_TARGET_ARCH")?);
        let directory = target_directory(out).join("agent");
        let status = Command::new(variable("CARGO")?)
            .current_dir(&workspace)
            .args(["build", "--package", self.package, "--locked"])
            .args(["--profile", "agent", "--target", &target])
            .arg("--target-dir")
            .arg(&directory)
            .env("RUSTFLAGS", "-C target-feature=+crt-static")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .status()
            .map_err(BuildError::Cargo)?;
        match status.success() {
            true => Ok(directory.join(target).join("agent").join(self.package)),
            false => Err(BuildError::Failed(target, status)),
        }
    }
}

/// Where cargo builds for: the directory with its tag, above what it gave the build script.
fn target_directory(out: &Path) -> &Path {
    out.ancestors()
        .find(|directory| directory.join("CACHEDIR.TAG").exists())
        .unwrap_or(out)
}

fn variable(name: &'static str) -> Result<String, BuildError> {
    env::var(name).map_err(|_| BuildError::NoBuildScript(name))
}
