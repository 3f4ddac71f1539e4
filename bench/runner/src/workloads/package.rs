//! Installation of packages: an operation is a run of the installer.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Act, Job, Workload};
use crate::program::{command, lacks, output, path};
use crate::random::Random;

const FILE_BYTES: usize = 4 << 10;
const FILES_A_DIRECTORY: usize = 20;
const CONTROL: &str = "Package: bench\nVersion: 1\nArchitecture: all\nMaintainer: bench <bench@localhost>\n\
    Description: files to install\n";

pub(super) static WORKLOADS: [Workload; 2] = [
    Workload {
        lacks: || lacks("dpkg").or_else(|| lacks("dpkg-deb")),
        ..Workload::writing("dpkg_install", dpkg_install)
    },
    Workload {
        lacks: lacks_venv,
        // It takes a minute on an emulated processor.
        rounds_max: || 1,
        ..Workload::writing("python_venv", python_venv)
    },
];

/// Installs into a separate root without packages. dpkg syncs the files that it unpacks.
fn dpkg_install<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let package = package(job)?;
    let root = job.fixture.made("root");
    let state = root.join("var/lib/dpkg");
    for directory in ["info", "updates", "triggers"] {
        fs::create_dir_all(state.join(directory))?;
    }
    fs::write(state.join("status"), "")?;
    Ok(Box::new(move |samples| {
        samples.operation(|| {
            let mut dpkg = command("dpkg", &root);
            dpkg.arg(format!("--root={}", root.display()))
                .arg("--force-all")
                .arg("--install");
            output(dpkg.arg(&package))
        });
        Ok(())
    }))
}

/// Returns a package of small files, the same everywhere.
fn package(job: &Job<'_>) -> Result<PathBuf> {
    let package = job.fixture.kept("package.deb");
    if !package.exists() {
        let files = job.fixture.made("package");
        fs::create_dir_all(files.join("DEBIAN"))?;
        fs::write(files.join("DEBIAN/control"), CONTROL)?;
        let mut random = Random::named("package");
        for number in 0..job.sizes.package_files {
            let directory = files.join(format!("opt/bench/{}", number / FILES_A_DIRECTORY));
            fs::create_dir_all(&directory)?;
            fs::write(directory.join(number.to_string()), random.bytes(FILE_BYTES))?;
        }
        let mut build = command("dpkg-deb", &files);
        output(
            build
                .args(["--root-owner-group", "-Znone", "--build"])
                .args([&files, &package]),
        )?;
    }
    Ok(package)
}

fn python_venv<'a>(job: &'a Job<'a>) -> Result<Act<'a>> {
    let environment = job.fixture.made("venv");
    Ok(Box::new(move |samples| {
        let mut python = command("python3", Path::new("/tmp"));
        samples.operation(|| output(python.args(["-m", "venv"]).arg(&environment)));
        Ok(())
    }))
}

fn lacks_venv() -> Option<String> {
    if path("python3").is_none() {
        return Some("the image has no python3".to_owned());
    }
    let imported = output(command("python3", "/".as_ref()).args(["-c", "import venv, ensurepip"]));
    imported
        .err()
        .map(|_| "the image's python3 has no ensurepip".to_owned())
}
