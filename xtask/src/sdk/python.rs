//! The wheels: built, installed into empty virtual environments, checked and tested.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use test_fixtures::command::{quiet, shown, step};
use test_fixtures::paths;

use super::user::User;
use super::{Build, copy_file, copy_tree, directory, kernel};

/// Builds the wheels, installs them and runs their tests.
pub(super) fn check(build: &Build, image: &Path) -> Result<()> {
    let tools = tools()?;
    let wheels = wheels(build, &tools)?;
    step("python: install the wheels into an empty virtual environment");
    let user = User::new("user-python", image)?;
    shown(user.command("python3").args(["-m", "venv", "venv"]))?;
    let install = ["-m", "pip", "install", "--quiet", "--no-index"];
    shown(
        user.command(user.directory.join("venv/bin/python"))
            .args(install)
            .args(&wheels),
    )?;
    step("python: types, tests, behaviours and examples");
    let again = [&install[..], &["--no-deps", "--force-reinstall"]].concat();
    shown(program(&tools, "python").args(again).args(&wheels))?;
    test(build, &tools, &user)
}

/// Installs the tools, at the versions of the requirements file.
fn tools() -> Result<PathBuf> {
    step("python: install the tools");
    let tools = directory("python")?;
    let requirements = paths::root().join("sdk/requirements.txt");
    let installed = tools.join("requirements.txt");
    if fs::read(&installed).ok() != Some(fs::read(&requirements)?) {
        shown(Command::new("python3").args(["-m", "venv"]).arg(&tools))?;
        let mut pip = program(&tools, "python");
        shown(
            pip.args(["-m", "pip", "install", "--quiet", "--requirement"])
                .arg(&requirements),
        )?;
        copy_file(&requirements, &installed)?;
    }
    Ok(tools)
}

/// Builds the wheels of the SDK and of the kernel.
fn wheels(build: &Build, tools: &Path) -> Result<[PathBuf; 2]> {
    step("python: build the wheels");
    for old in matching(&build.packages, "whl")? {
        fs::remove_file(old)?;
    }
    let source = paths::root().join("sdk/python");
    copy_file(
        &build.programs.join("msb"),
        &source.join("python/msb/_bin/msb"),
    )?;
    let mut maturin = program(tools, "maturin");
    maturin
        .args(["build", "--locked", "--out"])
        .arg(&build.packages)
        .current_dir(&source);
    if build.is_release {
        maturin.arg("--release");
    }
    shown(&mut maturin)?;
    let staged = directory("kernel")?;
    copy_tree(&paths::root().join("sdk/kernel/python"), &staged)?;
    kernel::add_to(&staged, "src/msb_kernel/libkrunfw.so")?;
    let wheel = [
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        "--wheel-dir",
    ];
    quiet(
        program(tools, "python")
            .args(wheel)
            .arg(&build.packages)
            .arg(&staged),
    )?;
    let find = |name: &str| {
        let starts = |path: &PathBuf| {
            let file = path.file_name().and_then(OsStr::to_str);
            file.is_some_and(|file| file.starts_with(name))
        };
        let found = matching(&build.packages, "whl")?.into_iter().find(starts);
        found.with_context(|| format!("no wheel {name} was built"))
    };
    Ok([find("msb_sdk-")?, find("msb_kernel-")?])
}

/// Checks the types, and runs the tests with the installed wheels.
fn test(build: &Build, tools: &Path, user: &User) -> Result<()> {
    for folder in ["tests", "examples"] {
        copy_tree(
            &paths::root().join("sdk/python").join(folder),
            &user.directory.join(folder),
        )?;
    }
    let conformance = user.directory.join("conformance");
    copy_tree(&paths::root().join("sdk/conformance"), &conformance)?;
    let user_tool = |name: &str| user.command(tools.join("bin").join(name));
    shown(user_tool("mypy").args(["--strict", "examples", "--package", "msb"]))?;
    let python = user.directory.join("venv/bin/python");
    shown(
        user_tool("pyright")
            .arg("--pythonpath")
            .arg(python)
            .arg("examples"),
    )?;
    let mut tests = user_tool("python");
    tests.args(["-m", "pytest", "--quiet", "tests", "conformance/python"]);
    if build.is_long {
        tests.env("SDK_TEST_LONG", "1");
    }
    shown(&mut tests)
}

fn program(tools: &Path, name: &str) -> Command {
    Command::new(tools.join("bin").join(name))
}

fn matching(directory: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let paths: Vec<PathBuf> = paths.collect::<Result<_>>()?;
    let is_wanted = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    Ok(paths.into_iter().filter(is_wanted).collect())
}
