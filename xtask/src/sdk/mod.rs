//! The SDKs' packages: built, installed into empty environments, checked and tested.
//!
//! Everything lies below `target/xtask/sdk`:
//!
//! ```text
//! packages/      the wheels and npm tarballs, unless --out names another directory
//! npm/           the npm tools, and the packages while they are built
//! python/        the Python tools; kernel/ is the Python kernel package while it is built
//! adapter-NAME/  an adapter, with its framework and tools
//! user-LANGUAGE/ an environment with nothing but the packages; its home is user-LANGUAGE/home
//! ```

pub(crate) mod adapters;
mod npm;
mod python;
mod user;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use test_fixtures::build::cargo;
use test_fixtures::command::{quiet, shown, step};
use test_fixtures::{images, kernel, paths, tools};

use crate::test::product;

/// The languages, in the order of their checks.
const LANGUAGES: [&str; 3] = ["rust", "typescript", "python"];

/// The files that packages are made of, and their destination.
struct Build {
    /// The directory of the finished packages.
    packages: PathBuf,
    /// Cargo's directory of the built programs.
    programs: PathBuf,
    is_release: bool,
    is_long: bool,
}

/// Returns the recipe's command line.
pub(crate) fn command() -> clap::Command {
    let out = Arg::new("out")
        .long("out")
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .help("Directory for the packages, which are built with optimisation then");
    let language = Arg::new("language")
        .long("language")
        .value_parser(LANGUAGES)
        .help("Only the packages and checks of this language");
    let long = Arg::new("long")
        .long("long")
        .action(ArgAction::SetTrue)
        .help("Run the long form of the tests, also with other JavaScript runtimes");
    let about = "Build the SDKs' packages, install them into empty environments, and test them";
    clap::Command::new("sdk")
        .about(about)
        .args([out, language, long])
}

/// Builds the packages and runs their checks.
pub(crate) fn run(arguments: &ArgMatches) -> Result<()> {
    step("the SDKs: packages, empty environments, types, tests");
    tools::install_for_sdks()?;
    let build = Build::new(arguments)?;
    let only = arguments.get_one::<String>("language").map(String::as_str);
    let is_wanted = |language: &str| only.is_none_or(|only| only == language);
    build.programs()?;
    let image = images::demo()?;
    if is_wanted("rust") {
        rust(&build)?;
    }
    if is_wanted("typescript") {
        npm::check(&build, &image)?;
    }
    if is_wanted("python") {
        python::check(&build, &image)?;
    }
    println!("the packages are in {}", build.packages.display());
    Ok(())
}

impl Build {
    fn new(arguments: &ArgMatches) -> Result<Self> {
        let out = arguments.get_one::<PathBuf>("out");
        let packages = match out {
            Some(out) => std::path::absolute(out)?,
            None => directory("packages")?,
        };
        fs::create_dir_all(&packages)
            .with_context(|| format!("cannot make {}", packages.display()))?;
        let profile = if out.is_some() { "release" } else { "debug" };
        Ok(Self {
            packages,
            programs: paths::root().join("target").join(profile),
            is_release: out.is_some(),
            is_long: arguments.get_flag("long"),
        })
    }

    /// Passes the length of the tests to a test runner.
    fn lengthened<'a>(&self, tests: &'a mut Command) -> &'a mut Command {
        if self.is_long {
            tests.env("SDK_TEST_LONG", "1").env("MSB_TEST_LONG", "1");
        }
        tests
    }

    /// Builds msb and the native modules.
    fn programs(&self) -> Result<()> {
        step("build msb and the native modules");
        if !self.is_release {
            // The build of the tests: another selection of packages would compile them again.
            return shown(&mut product::build());
        }
        let mut build = cargo();
        build.args(["build", "--locked", "--release"]);
        shown(build.args(["--package", "msb", "--package", "msb-node"]))
    }
}

/// Runs the boot tests of the Rust SDK, and the behaviours.
fn rust(build: &Build) -> Result<()> {
    step("rust: tests with a machine, and the behaviours of sdk/conformance");
    for words in ["sdk::", "conformance::", "examples::"] {
        let mut tests = product::tests("boot-tests");
        tests.env("MSB_TEST_MSB", build.programs.join("msb"));
        tests.env("MSB_KERNEL", kernel::guest()?);
        shown(tests.args(["--", words]))?;
    }
    Ok(())
}

/// Returns a directory below `target/xtask/sdk`, and makes it if it is missing.
fn directory(name: &str) -> Result<PathBuf> {
    paths::kept(&format!("sdk/{name}"))
}

/// Adds msb's guest kernel to a package at `path`, and its licence and the offer of its source.
fn add_kernel(package: &Path, path: &str) -> Result<()> {
    let mut assemble = Command::new("python3");
    assemble.arg(paths::root().join("sdk/kernel/assemble.py"));
    assemble.arg(kernel::own()?).arg(package);
    quiet(assemble.arg(path)).map(drop)
}

/// Removes the content of a directory.
fn empty(directory: &Path) -> Result<PathBuf> {
    let emptied = fs::remove_dir_all(directory).and_then(|()| fs::create_dir_all(directory));
    emptied.with_context(|| format!("cannot empty {}", directory.display()))?;
    Ok(directory.to_owned())
}

/// Replaces a directory by a copy of another.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        empty(to)?;
    }
    let mut copy = Command::new("cp");
    quiet(
        copy.args(["--recursive", "--no-target-directory"])
            .arg(from)
            .arg(to),
    )
    .map(drop)
}

/// Copies a file, and makes the directory that it is copied to.
fn copy_file(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file without a directory")?)?;
    let copied = fs::copy(from, to).map(drop);
    copied.with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}
