//! The wheels: built, installed into empty virtual environments, checked and tested.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use test_fixtures::command::{quiet, shown, step};
use test_fixtures::paths;

use super::user::User;
use super::{Build, copy_file, copy_tree, directory};

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
    for checked in [&["examples", "tests/types"][..], &["--package", "msb"]] {
        let mut mypy = user.command(tools.join("mypy"));
        shown(mypy.arg("--strict").args(checked))?;
    }
    let pyright = super::npm::tools()?.join("node_modules/.bin/pyright");
    shown(
        user.command(pyright)
            .arg("--pythonpath")
            .arg(&python)
            .args(["examples", "tests/types"]),
    )?;
    step("python: behaviours, tests and examples, with the installed wheels");
    let mut tests = user.command(tools.join("python"));
    tests.args(["-m", "pytest", "--quiet", "--durations=30"]);
    tests.args(["conformance/python", "tests"]);
    tests.arg(paths::root().join("sdk/python/source_tests"));
    shown(build.lengthened(&mut tests))
}

/// Installs the tools, at the versions of the requirements file, and returns their directory.
pub(super) fn tools() -> Result<PathBuf> {
    environment("python", Command::new("python3"), "sdk/requirements.txt")
}

/// Makes a virtual environment with what a requirements file names, and returns the directory of its programs.
pub(super) fn environment(name: &str, mut python: Command, requirements: &str) -> Result<PathBuf> {
    let environment = directory(name)?;
    let requirements = paths::root().join(requirements);
    let installed = environment.join("requirements.txt");
    if fs::read(&installed).ok() != Some(fs::read(&requirements)?) {
        shown(python.args(["-m", "venv"]).arg(&environment))?;
        let mut pip = Command::new(environment.join("bin/pip"));
        shown(
            pip.args(["install", "--quiet", "--requirement"])
                .arg(&requirements),
        )?;
        copy_file(&requirements, &installed)?;
    }
    Ok(environment.join("bin"))
}

/// Builds the wheels of the SDK and of the kernel.
pub(super) fn wheels(build: &Build, tools: &Path) -> Result<Vec<PathBuf>> {
    let source = paths::root().join("sdk/python");
    let out = super::empty(&directory("wheels")?)?;
    let program = build.programs.join("msb");
    if build.is_release {
        copy_file(&program, &source.join("python/msb/_bin/msb"))?;
        let mut maturin = Command::new(tools.join("maturin"));
        maturin.args(["build", "--locked", "--release", "--out"]);
        shown(maturin.arg(&out).current_dir(&source))?;
    } else {
        let mut pack = Command::new(tools.join("python"));
        pack.arg(source.join("development_wheel.py"));
        pack.arg(build.programs.join("lib_native.so")).arg(program);
        shown(pack.arg(&out))?;
    }
    let staged = directory("kernel")?;
    copy_tree(&paths::root().join("sdk/kernel/python"), &staged)?;
    super::add_kernel(&staged, "src/msb_kernel/vmlinux")?;
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
