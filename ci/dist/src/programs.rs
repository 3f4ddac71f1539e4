//! The programs of a release, built and checked.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_fixtures::build::cargo;
use test_fixtures::command::{quiet, shown, step};
use test_fixtures::paths;

use crate::release::{GLIBC, TARGET};
use crate::toolchain::{self, Toolchain};

/// The libraries that a program may need at run time. All are parts of glibc.
const LIBRARIES: [&str; 6] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
];

/// The built programs.
#[derive(Debug)]
pub(crate) struct Programs {
    /// The path of `msb`.
    pub(crate) msb: PathBuf,
    /// The path of `msb-bench`.
    pub(crate) bench: PathBuf,
}

/// Builds the programs. Its target directory is its own: other flags would have cargo build
/// everything again that a developer has built.
///
/// # Errors
/// If the build fails, or a program needs more than glibc, or a newer one.
pub(crate) fn build() -> Result<Programs> {
    let zig = Toolchain::install()?;
    let target = paths::root().join("target/dist");
    step("build the programs that run in guests");
    let flags = toolchain::without_paths()?;
    shown(
        cargo()
            .args([
                "build",
                "--locked",
                "--profile",
                "agent",
                "--target",
                TARGET,
            ])
            .args(["--package", "msb-agent", "--package", "msb-bench-runner"])
            .arg("--target-dir")
            .arg(&target)
            .env(
                "RUSTFLAGS",
                toolchain::flags(&format!("{flags} -C target-feature=+crt-static")),
            ),
    )?;
    step("build msb and msb-bench for old versions of glibc: the longest step");
    let guests = target.join(TARGET).join("agent");
    shown(
        zig.zigbuild()?
            .args([
                "--release",
                "--locked",
                "--target",
                &format!("{TARGET}.{GLIBC}"),
            ])
            .args(["--package", "msb", "--package", "msb-bench"])
            .arg("--target-dir")
            .arg(&target)
            .env("RUSTFLAGS", toolchain::flags(&flags))
            .env("MSB_AGENT", guests.join("msb-agent"))
            .env("MSB_BENCH_RUNNER", guests.join("msb-bench-runner")),
    )?;
    let built = target.join(TARGET).join("release");
    let programs = Programs {
        msb: built.join("msb"),
        bench: built.join("msb-bench"),
    };
    for program in [&programs.msb, &programs.bench] {
        check_libraries(program)?;
    }
    Ok(programs)
}

/// Checks that a program runs with the oldest glibc, by the word of binutils.
fn check_libraries(program: &Path) -> Result<()> {
    let shown = program.display();
    let needs = readelf(&["--wide", "--dynamic"], program)?;
    for library in needed(&needs) {
        ensure!(
            LIBRARIES.contains(&library),
            "{shown} needs {library}, which is not part of glibc"
        );
    }
    let versions = readelf(&["--wide", "--version-info"], program)?;
    let newest = newest_glibc(&versions).with_context(|| format!("{shown} needs no glibc"))?;
    let limit = version(GLIBC).context("a version")?;
    ensure!(
        newest <= limit,
        "{shown} needs glibc {}.{}, and {GLIBC} is the limit",
        newest.0,
        newest.1
    );
    let bytes = fs::read(program)?;
    let root = paths::root();
    let path = root.to_string_lossy();
    ensure!(
        !contains(&bytes, path.as_bytes()),
        "{shown} contains the path of the working tree, {path}"
    );
    Ok(())
}

fn readelf(options: &[&str], program: &Path) -> Result<String> {
    let output = quiet(Command::new("readelf").args(options).arg(program))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the libraries in the output of `readelf --dynamic`.
fn needed(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| line.contains("(NEEDED)"));
    lines.filter_map(|line| {
        line.split_once('[')?
            .1
            .split_once(']')
            .map(|(name, _)| name)
    })
}

/// Returns the newest version of glibc in the output of `readelf --version-info`.
fn newest_glibc(text: &str) -> Option<(u32, u32)> {
    let words = text.split_whitespace();
    words
        .filter_map(|word| version(word.strip_prefix("GLIBC_")?))
        .max()
}

/// Returns the first two numbers of a version.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_compared_as_numbers() {
        let text = "  0x0010:   Name: GLIBC_2.9  Flags: none  Version: 3\n\
                    0x0020:   Name: GLIBC_2.28  Flags: none\n 0x30: Name: GLIBC_2.2.5 Flags";
        assert_eq!(newest_glibc(text), Some((2, 28)));
        assert_eq!(newest_glibc("Name: GCC_3.0"), None);
    }

    #[test]
    fn needed_libraries_are_read() {
        let text = " 0x01 (NEEDED)  Shared library: [libc.so.6]\n 0x0c (INIT) 0x4000\n";
        assert_eq!(needed(text).collect::<Vec<_>>(), ["libc.so.6"]);
    }
}
