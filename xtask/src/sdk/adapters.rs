//! The adapters of evaluation frameworks: installed beside the SDK's wheels, checked and tested.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use test_fixtures::command::{shown, step};
use test_fixtures::{images, paths, tools};

use super::user::User;
use super::{Build, python};

/// The folders of the adapters in `sdk/python/adapters`.
const ADAPTERS: [&str; 2] = ["inspect", "harbor"];
/// The checks of an adapter's sources: tools and their arguments.
const CHECKS: [(&str, &[&str]); 3] = [
    ("ruff", &["check", ".", "../tests"]),
    ("ruff", &["format", "--check", ".", "../tests"]),
    ("mypy", &[]),
];
/// The versions of Python that both frameworks run on.
const PYTHONS: [&str; 3] = ["3.12", "3.13", "3.14"];

/// Builds the wheels of the SDK, and runs the adapters' checks with them.
pub(crate) fn run() -> Result<()> {
    tools::install_for_sdks()?;
    let build = Build::new(&super::command().get_matches_from(["sdk"]))?;
    build.programs()?;
    let wheels = python::wheels(&build, &python::tools()?)?;
    let image = images::demo()?;
    ADAPTERS
        .iter()
        .try_for_each(|name| check(name, &wheels, &image))
}

fn check(name: &str, wheels: &[PathBuf], image: &Path) -> Result<()> {
    step(&format!("{name}: install the framework and the adapter"));
    let folder = format!("sdk/python/adapters/{name}");
    let source = paths::root().join(&folder);
    let requirements = format!("{folder}/requirements.txt");
    let programs = python::environment(&format!("adapter-{name}"), found()?, &requirements)?;
    let mut pip = Command::new(programs.join("pip"));
    pip.args(["install", "--quiet", "--no-index", "--no-deps"]);
    pip.args(["--no-build-isolation", "--force-reinstall"]);
    shown(pip.args(wheels).arg(&source))?;
    step(&format!("{name}: formats and types"));
    for (tool, arguments) in CHECKS {
        let mut tool = Command::new(programs.join(tool));
        shown(tool.args(arguments).current_dir(&source))?;
    }
    step(&format!("{name}: tests in guests"));
    let user = User::new(&format!("user-{name}"), image)?;
    let mut tests = user.command(programs.join("python"));
    tests.args(["-m", "pytest", "--quiet", "--durations=10"]);
    shown(tests.arg(&source))
}

/// Returns the first Python that is installed.
fn found() -> Result<Command> {
    let runs = |version: &&str| {
        let output = interpreter(version).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    };
    let version = PYTHONS.into_iter().find(runs);
    let version = version.context("Python 3.12 or later is missing: install it, with its venv")?;
    Ok(interpreter(version))
}

fn interpreter(version: &str) -> Command {
    let mut python = Command::new(format!("python{version}"));
    // With pyenv, the program is there for every version, and runs the one that is chosen.
    python.env("PYENV_VERSION", version);
    python
}
