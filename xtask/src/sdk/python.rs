//! The wheels: built, installed into empty virtual environments, checked and tested.

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
    step("python: install the tools");
    let tools = tools()?;
    step("python: build the wheels");
    let wheels = wheels(build, &tools)?;
    step("python: install the wheels into an empty virtual environment");
    let user = User::new("user-python", image)?;
    shown(user.command("python3").args(["-m", "venv", "venv"]))?;
    let python = user.directory.join("venv/bin/python");
    let install = ["-m", "pip", "install", "--quiet", "--no-index"];
    shown(user.command(&python).args(install).args(&wheels))?;
    // The environment of the tools has the wheels, too: it has the test runner.
    let again = [&install[..], &["--no-deps", "--force-reinstall"]].concat();
    shown(Command::new(tools.join("python")).args(again).args(&wheels))?;
    for folder in ["sdk/python/tests", "sdk/python/examples", "sdk/conformance"] {
        let name = Path::new(folder).file_name().unwrap_or_default();
        copy_tree(&paths::root().join(folder), &user.directory.join(name))?;
    }
    copy_file(
        &paths::root().join("sdk/python/pyproject.toml"),
        &user.directory.join("pyproject.toml"),
    )?;
    step("python: types");
    shown(
        user.command(tools.join("mypy"))
            .args(["--strict", "examples", "--package", "msb"]),
    )?;
    let pyright = directory("npm")?.join("node_modules/.bin/pyright");
    shown(
        user.command(pyright)
            .arg("--pythonpath")
            .arg(&python)
            .arg("examples"),
    )?;
    step("python: behaviours, tests and examples, with the installed wheels");
    let mut tests = user.command(tools.join("python"));
    tests.args(["-m", "pytest", "--quiet", "conformance/python", "tests"]);
    shown(build.lengthened(&mut tests))
}

/// Installs the tools, at the versions of the requirements file, and returns their directory.
fn tools() -> Result<PathBuf> {
    let tools = directory("python")?;
    let requirements = paths::root().join("sdk/requirements.txt");
    let installed = tools.join("requirements.txt");
    if fs::read(&installed).ok() != Some(fs::read(&requirements)?) {
        shown(Command::new("python3").args(["-m", "venv"]).arg(&tools))?;
        let mut pip = Command::new(tools.join("bin/pip"));
        shown(
            pip.args(["install", "--quiet", "--requirement"])
                .arg(&requirements),
        )?;
        copy_file(&requirements, &installed)?;
    }
    Ok(tools.join("bin"))
}

/// Builds the wheels of the SDK and of the kernel.
fn wheels(build: &Build, tools: &Path) -> Result<Vec<PathBuf>> {
    let source = paths::root().join("sdk/python");
    copy_file(
        &build.programs.join("msb"),
        &source.join("python/msb/_bin/msb"),
    )?;
    let mut maturin = Command::new(tools.join("maturin"));
    maturin.args(["build", "--locked"]).current_dir(&source);
    if build.is_release {
        maturin.arg("--release");
    }
    let out = super::empty(&directory("wheels")?)?;
    shown(maturin.arg("--out").arg(&out))?;
    let staged = directory("kernel")?;
    copy_tree(&paths::root().join("sdk/kernel/python"), &staged)?;
    kernel::add_to(&staged, "src/msb_kernel/libkrunfw.so")?;
    let mut pip = Command::new(tools.join("pip"));
    pip.args([
        "wheel",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        "--wheel-dir",
    ]);
    quiet(pip.arg(&out).arg(&staged))?;
    let wheels = fs::read_dir(&out)?.map(|wheel| {
        let wheel = wheel?.path();
        let name = wheel.file_name().context("a wheel without a name")?;
        let finished = build.packages.join(name);
        copy_file(&wheel, &finished)?;
        Ok(finished)
    });
    wheels.collect()
}
