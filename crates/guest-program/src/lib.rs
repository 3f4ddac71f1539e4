//! Builds the static programs that run in guests, for build scripts of the crates that embed them.
//!
//! All are built in the same way: for msb's own architecture, with the same compiler and lock file,
//! in one target directory that all profiles of msb share. Their common dependencies are compiled
//! once, and no build waits for another that waits for it.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// A package of this workspace whose program runs in guests.
#[derive(Debug, Clone, Copy)]
pub struct GuestProgram<'a> {
    /// The name of the package, and of its only program.
    pub package: &'a str,
    /// The environment variable that names a prebuilt program to use instead.
    pub ready_made: &'a str,
    /// The workspace, relative to the directory of the package that embeds the program.
    pub workspace: &'a str,
    /// The sources of the program, relative to the workspace.
    pub sources: &'a [&'a str],
}

/// The error of a program that could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The caller is not a build script: cargo did not set this variable.
    #[error("cargo did not set {0}")]
    NoBuildScript(&'static str),
    /// Cargo cannot be run.
    #[error("cannot run cargo: {0}")]
    Cargo(#[source] io::Error),
    /// The build for this target failed.
    #[error("the build for {0} ended with {1}")]
    Failed(String, ExitStatus),
    /// The program at this path cannot be copied.
    #[error("cannot copy {path}: {source}", path = .0.display(), source = .1)]
    Copy(PathBuf, #[source] io::Error),
}

impl GuestProgram<'_> {
    /// Puts the program into the `OUT_DIR` of the calling build script, under the package's name.
    ///
    /// Also reports the program's dependencies to cargo.
    ///
    /// # Errors
    /// If the program does not build, or the prebuilt one cannot be read.
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
        // A guest runs Linux on every host.
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
        if status.success() {
            Ok(directory.join(target).join("agent").join(self.package))
        } else {
            Err(BuildError::Failed(target, status))
        }
    }
}

/// Returns the target directory of the current build: the ancestor of `out` that has cargo's tag
/// file.
fn target_directory(out: &Path) -> &Path {
    out.ancestors()
        .find(|directory| directory.join("CACHEDIR.TAG").exists())
        .unwrap_or(out)
}

fn variable(name: &'static str) -> Result<String, BuildError> {
    env::var(name).map_err(|_| BuildError::NoBuildScript(name))
}
