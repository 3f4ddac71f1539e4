//! The npm packages: built, installed into an empty folder, checked and tested.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use test_fixtures::command::{quiet, shown, step};
use test_fixtures::paths;

use super::user::User;
use super::{Build, copy_file, copy_tree, directory, kernel};

/// The packages: the folder in which each is built, which is its name but for the first.
const FOLDERS: [&str; 3] = ["typescript", "msb-sdk-linux-x64", "msb-kernel-linux-x64"];

/// Builds the packages, installs them and runs their tests.
pub(super) fn check(build: &Build, image: &Path) -> Result<()> {
    let work = tools()?;
    step("typescript: compile, and pack three npm packages");
    stage(build, &work)?;
    for project in [
        "tsconfig.json",
        "tests/tsconfig.json",
        "examples/tsconfig.json",
    ] {
        tool(
            &work,
            "tsc",
            &["--project", &format!("typescript/{project}")],
        )?;
    }
    let tarballs = pack(build, &work)?;
    step("typescript: publint, attw, typedoc");
    tool(&work, "publint", &["--strict", "typescript"])?;
    tool(&work, "attw", &[&tarballs[0].display().to_string()])?;
    let typedoc = [
        "--options",
        "typescript/typedoc.json",
        "--tsconfig",
        "typescript/tsconfig.json",
    ];
    tool(&work, "typedoc", &typedoc)?;
    let user = install(&tarballs, image)?;
    test(build, &work, &user)
}

/// Installs the tools, at the versions of the lock file.
fn tools() -> Result<PathBuf> {
    step("typescript: install the npm tools");
    let work = directory("npm")?;
    let sdk = paths::root().join("sdk");
    let is_current = ["package.json", "package-lock.json"].iter().all(|name| {
        let installed = fs::read(work.join("node_modules/.installed").join(name)).ok();
        installed.is_some() && installed == fs::read(sdk.join(name)).ok()
    });
    if is_current {
        return Ok(work);
    }
    for name in ["package.json", "package-lock.json"] {
        copy_file(&sdk.join(name), &work.join(name))?;
    }
    let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    shown(Command::new("npm").args(install).current_dir(&work))?;
    for name in ["package.json", "package-lock.json"] {
        copy_file(
            &sdk.join(name),
            &work.join("node_modules/.installed").join(name),
        )?;
    }
    Ok(work)
}

/// Lays out the packages' folders.
fn stage(build: &Build, work: &Path) -> Result<()> {
    let sdk = paths::root().join("sdk");
    let [package, platform, kernel_package] = FOLDERS.map(|name| work.join(name));
    copy_tree(&sdk.join("typescript"), &package)?;
    copy_tree(&sdk.join("conformance"), &work.join("conformance"))?;
    copy_tree(&package.join("platform/linux-x64"), &platform)?;
    copy_file(
        &build.programs.join("libmsb_node.so"),
        &platform.join("msb-sdk.node"),
    )?;
    copy_file(&build.programs.join("msb"), &platform.join("bin/msb"))?;
    for folder in [&package, &platform] {
        copy_file(&paths::root().join("LICENSE"), &folder.join("LICENSE"))?;
    }
    copy_tree(&sdk.join("kernel/npm"), &kernel_package)?;
    kernel::add_to(&kernel_package, "libkrunfw.so")
}

/// Packs the folders, and returns the tarballs in the order of [`FOLDERS`].
fn pack(build: &Build, work: &Path) -> Result<Vec<PathBuf>> {
    let pack = |folder: &str| -> Result<PathBuf> {
        let mut npm = Command::new("npm");
        npm.args(["pack", "--ignore-scripts", "--json", "--pack-destination"])
            .arg(&build.packages)
            .current_dir(work.join(folder));
        let output = quiet(&mut npm)?.stdout;
        let packed: serde_json::Value = serde_json::from_slice(&output)?;
        // The answer is a list, or an object by the package's name, depending on npm's version.
        let packed = packed
            .get(0)
            .or_else(|| packed.as_object()?.values().next());
        let name = packed.and_then(|packed| packed["filename"].as_str());
        ensure!(name.is_some(), "npm pack names no file for {folder}");
        Ok(build.packages.join(name.unwrap_or_default()))
    };
    FOLDERS.iter().map(|folder| pack(folder)).collect()
}

/// Installs the packages into an empty folder.
fn install(tarballs: &[PathBuf], image: &Path) -> Result<User> {
    step("typescript: install the packages into an empty folder");
    let user = User::new("user-typescript", image)?;
    fs::write(
        user.directory.join("package.json"),
        "{ \"private\": true }\n",
    )?;
    let offline = [
        "install",
        "--ignore-scripts",
        "--offline",
        "--no-audit",
        "--no-fund",
    ];
    shown(user.command("npm").args(offline).args(tarballs))?;
    Ok(user)
}

/// Runs the tests and examples against the installed packages.
fn test(build: &Build, work: &Path, user: &User) -> Result<()> {
    step("typescript: tests, behaviours and examples, with the installed packages");
    for folder in ["tests", "examples"] {
        copy_tree(
            &work.join("typescript/build").join(folder),
            &user.directory.join(folder),
        )?;
    }
    copy_tree(
        &work.join("conformance"),
        &user.directory.join("conformance"),
    )?;
    let mut tests = user.command("node");
    tests.args(["--expose-gc", "--test", "--test-concurrency=2", "tests/"]);
    if build.is_long {
        tests.env("SDK_TEST_LONG", "1");
    }
    shown(&mut tests)
}

/// Runs a tool in the folder of the packages.
fn tool(work: &Path, name: &str, arguments: &[&str]) -> Result<()> {
    let program = work.join("node_modules/.bin").join(name);
    shown(Command::new(program).args(arguments).current_dir(work))
}
