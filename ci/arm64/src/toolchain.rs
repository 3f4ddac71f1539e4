//! The Rust compiler of Debian sid, whose packages include the standard library for arm64.
//!
//! The packages are unpacked and not installed: this host's own compiler builds everything else. The
//! unpacked compiler needs a newer C library than this host has, so it is started by its own loader.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use fs_err as fs;
use test_fixtures::build::cargo;
use test_fixtures::command::{quiet, step};
use test_fixtures::debian_package::{self, DebianSuite};
use test_fixtures::{lock, paths, tools};

/// The suite.
const SUITE: &str = "http://deb.debian.org/debian sid main";

/// The programs that compile, link and execute for arm64, each with its Debian package.
const PROGRAMS: [(&str, &str); 3] = [
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("qemu-aarch64-static", "qemu-user-static"),
    ("qemu-system-aarch64", "qemu-system-arm"),
];

/// The C library for arm64, and the package that has it.
const C_LIBRARY: (&str, &str) = ("/usr/aarch64-linux-gnu/lib/libc.a", "libc6-dev-arm64-cross");

/// The dependencies that tests and sandboxes spend their time in. The others are not optimised: the
/// compiler would take most of the time, and it runs once for each change of a version.
const OPTIMISED: [&str; 8] = [
    "blake3", "crc32c", "flate2", "memchr", "sha2", "zlib-rs", "zstd", "zstd-sys",
];

/// The target of the programs.
pub(crate) const TARGET: &str = "aarch64-unknown-linux-gnu";

/// The installed toolchain.
#[derive(Debug)]
pub(crate) struct Toolchain {
    /// The script that starts the compiler.
    rustc: PathBuf,
    /// The directory of built programs.
    pub(crate) target: PathBuf,
}

impl Toolchain {
    /// Installs the cross-compiler and the emulators, and unpacks the Rust compiler, unless they are
    /// there.
    ///
    /// # Errors
    /// If a package cannot be fetched or installed, or the compiler does not start.
    pub(crate) fn install(directory: &Path) -> Result<Self> {
        tools::install_programs(&PROGRAMS)?;
        if !Path::new(C_LIBRARY.0).exists() {
            tools::install_packages(&[C_LIBRARY.1])?;
        }
        let _lock = lock::hold("arm64-toolchain")?;
        let root = directory.join("rust");
        if !root.exists() {
            unpack(&root)?;
        }
        let rustc = directory.join("rustc");
        write_script(&rustc, &root.join("usr"))?;
        quiet(Command::new(&rustc).arg("--version"))?;
        Ok(Self {
            rustc,
            target: paths::root().join("target/arm64"),
        })
    }

    /// Returns the command cargo, which compiles with this compiler, and for arm64 if it is told
    /// that target.
    pub(crate) fn cargo(&self) -> Command {
        let mut cargo = cargo();
        cargo.args(["--config", "profile.dev.package.\"*\".opt-level=0"]);
        for package in OPTIMISED {
            let setting = format!("profile.dev.package.{package}.opt-level=2");
            cargo.args(["--config", &setting]);
        }
        let library = "/usr/aarch64-linux-gnu/lib";
        let flags = [
            // The programs find their libraries wherever they are started, and with any environment.
            format!("-Clink-arg=-Wl,--dynamic-linker={library}/ld-linux-aarch64.so.1"),
            format!("-Clink-arg=-Wl,-rpath={library}"),
        ];
        cargo
            .env("RUSTC", &self.rustc)
            .env("CARGO_TARGET_DIR", &self.target)
            .env(
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
                PROGRAMS[0].0,
            )
            .env(
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
                flags.join(" "),
            )
            .env("CC_aarch64_unknown_linux_gnu", PROGRAMS[0].0)
            .env("AR_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-ar")
            // The features of the pinned compiler's lints are not those of Debian's.
            .env_remove("RUSTUP_TOOLCHAIN");
        cargo
    }
}

/// Unpacks the compiler, and the standard libraries of both architectures.
fn unpack(root: &Path) -> Result<()> {
    step("fetch the Rust compiler of Debian sid, with the standard library for arm64");
    let work = paths::scratch("arm64-packages")?;
    let suite = DebianSuite::open(SUITE, &["amd64", "arm64"], &work)?;
    let mut packages = suite.with_dependencies("libstd-rust-dev:amd64")?;
    packages.extend(["rustc:amd64", "libstd-rust-dev:arm64", "rust-src"].map(str::to_owned));
    suite.download(&packages)?;
    let unfinished = root.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    fs::create_dir_all(&unfinished)?;
    debian_package::unpack_all(&work, &unfinished)?;
    fs::rename(&unfinished, root)?;
    fs::remove_dir_all(work)?;
    Ok(())
}

/// Writes the script that starts the compiler below `usr`.
fn write_script(path: &Path, usr: &Path) -> Result<()> {
    let usr = usr.display();
    let script = format!(
        "#!/bin/sh\n\
         exec '{usr}/lib64/ld-linux-x86-64.so.2' --argv0 rustc --library-path \
         '{usr}/lib/x86_64-linux-gnu' '{usr}/bin/rustc' --sysroot '{usr}' \"$@\"\n"
    );
    fs::write(path, script)?;
    fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}
