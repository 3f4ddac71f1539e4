//! The npm packages: built, installed into an empty folder, checked and tested.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use test_fixtures::command::{quiet, shown, step};
use test_fixtures::paths;

use super::user::User;
use super::{Build, copy_file, copy_tree, directory};

/// The folder of each package while it is built.
const FOLDERS: [&str; 3] = ["typescript", "msb-sdk-linux-x64", "msb-kernel-linux-x64"];
/// The files that say which tools are installed.
const LOCK: [&str; 2] = ["package.json", "package-lock.json"];

/// Builds the packages, installs them and runs their tests.
pub(super) fn check(build: &Build, image: &Path) -> Result<()> {
    step("typescript: install the npm tools");
    let work = tools()?;
    step("typescript: compile, and pack three npm packages");
    stage(build, &work)?;
    shown(npm(&work).args(["run", "--silent", "build"]))?;
    let packed = FOLDERS.iter().map(|folder| pack(build, &work.join(folder)));
    let tarballs: Vec<PathBuf> = packed.collect::<Result<_>>()?;
    step("typescript: publint, attw, typedoc");
    shown(npm(&work).args(["run", "--silent", "check"]))?;
    step("typescript: install the packages into an empty folder");
    let user = User::new("user-typescript", image)?;
    let manifest = "{ \"private\": true, \"type\": \"module\" }\n";
    fs::write(user.directory.join("package.json"), manifest)?;
    let install = [
        "install",
        "--ignore-scripts",
        "--offline",
        "--no-audit",
        "--no-fund",
    ];
    shown(user.command("npm").args(install).args(&tarballs))?;
    step("typescript: tests, behaviours and examples, with the installed packages");
    for folder in [
        "typescript/build/tests",
        "typescript/build/examples",
        "conformance",
    ] {
        let name = Path::new(folder).file_name().unwrap_or_default();
        copy_tree(&work.join(folder), &user.directory.join(name))?;
    }
    let mut tests = user.command("node");
    tests.args(["--expose-gc", "--test", "--test-concurrency=2"]);
    tests.env("SDK_TEST_TOOLS", work.join("node_modules"));
    shown(build.lengthened(tests.arg("tests/")))
}

/// Installs the tools, at the versions of the lock file.
pub(super) fn tools() -> Result<PathBuf> {
    let (work, sdk) = (directory("npm")?, paths::root().join("sdk"));
    let installed = work.join("node_modules/.installed");
    let is_current = |name: &&str| {
        let wanted = fs::read(sdk.join(name)).ok();
        wanted.is_some() && fs::read(installed.join(name)).ok() == wanted
    };
    if !LOCK.iter().all(is_current) {
        for name in LOCK {
            copy_file(&sdk.join(name), &work.join(name))?;
        }
        shown(npm(&work).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))?;
        for name in LOCK {
            copy_file(&sdk.join(name), &installed.join(name))?;
        }
    }
    Ok(work)
}

/// Lays out the packages' folders.
fn stage(build: &Build, work: &Path) -> Result<()> {
    let sdk = paths::root().join("sdk");
    let [package, platform, kernel_package] = FOLDERS.map(|name| work.join(name));
    copy_tree(&sdk.join("typescript"), &package)?;
    for built in ["dist", "build"] {
        // What a developer has compiled there may be older than its sources.
        let _ = fs::remove_dir_all(package.join(built));
    }
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
    super::add_kernel(&kernel_package, "vmlinux")
}

/// Packs a folder, and returns the path of the tarball.
fn pack(build: &Build, folder: &Path) -> Result<PathBuf> {
    let mut pack = npm(folder);
    pack.args(["pack", "--ignore-scripts", "--silent", "--pack-destination"]);
    let output = quiet(pack.arg(&build.packages))?;
    let name = String::from_utf8(output.stdout)?;
    let name = name.lines().last().context("npm pack names no file")?;
    Ok(build.packages.join(name.trim()))
}

fn npm(directory: &Path) -> Command {
    let mut npm = Command::new("npm");
    npm.current_dir(directory);
    npm
}
