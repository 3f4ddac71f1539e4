//! Makes the release of msb: `cargo xtask dist`.
//!
//! The files of a release are one value, from which every form of it is made:
//!
//! ```text
//! programs ─┐                    ┌─ archive      msb-VERSION-x86_64-linux.tar.gz, with install.sh
//! kernels  ─┼─ tree (bin, lib, ──┼─ deb          msb_VERSION_amd64.deb
//! documents ┘        share)      └─ rpm_package  msb-VERSION-1.x86_64.rpm
//! ```
//!
//! The same files and the same `SOURCE_DATE_EPOCH` give the same bytes. `--check` installs the result
//! into empty roots of several Debian releases and boots a sandbox in each.

mod archive;
mod check;
mod content;
mod deb;
mod dependencies;
mod kernel;
mod licences;
mod programs;
mod release;
mod rpm_package;
mod sbom;
mod toolchain;
mod tree;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use fs_err as fs;
use test_fixtures::command::step;
use test_fixtures::paths;

use crate::kernel::Kernels;
use crate::release::Release;
use crate::tree::{DATA, PROGRAM, Tree};

fn main() -> Result<()> {
    let arguments = command().get_matches();
    let out = match arguments.get_one::<PathBuf>("out") {
        Some(out) => std::path::absolute(out)?,
        None => paths::kept("dist/out")?,
    };
    let release = Release::of_tree(&paths::root())?;
    if !arguments.get_flag("check") {
        return make(&release, &out, &arguments);
    }
    let roots = arguments.get_many::<String>("root").into_iter().flatten();
    check::run(
        &release,
        &out,
        &roots.map(String::as_str).collect::<Vec<_>>(),
    )
}

fn command() -> Command {
    let out = Arg::new("out")
        .long("out")
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .help("Directory of the release [default: target/xtask/dist/out]");
    let kernel = Arg::new("kernel")
        .long("kernel")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Kernel that cargo xtask kernel-build has made, instead of making it");
    let filesystems_kernel = Arg::new("filesystems-kernel")
        .long("filesystems-kernel")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Kernel that cargo xtask kernel-build --filesystems has made, instead of making it");
    let check = Arg::new("check")
        .long("check")
        .action(ArgAction::SetTrue)
        .conflicts_with_all(["kernel", "filesystems-kernel"])
        .help("Install the release in DIR into empty roots, as root, and boot a sandbox in each");
    let root = Arg::new("root")
        .long("root")
        .value_name("NAME")
        .value_parser(check::ROOTS.map(|root| root.name))
        .action(ArgAction::Append)
        .requires("check")
        .help("Only this root");
    Command::new("cargo xtask dist")
        .about("Make the release: archive, Debian and RPM packages, digests")
        .args([out, kernel, filesystems_kernel, check, root])
        .after_help(
            "Examples:\n  \
             cargo xtask dist                    make the release below target/xtask/dist\n  \
             cargo xtask dist --check            install it in every root\n  \
             cargo xtask dist --check --root rpm install only the RPM package",
        )
}

/// Makes every form of the release.
fn make(release: &Release, out: &Path, arguments: &ArgMatches) -> Result<()> {
    let path = |name| arguments.get_one::<PathBuf>(name).map(PathBuf::as_path);
    step("the kernels of the release");
    let kernels = Kernels::get(path("kernel"), path("filesystems-kernel"))?;
    let programs = programs::build()?;
    step("the documents and the packages");
    let crates = dependencies::of_programs()?;
    let tree = content::tree(release, &programs, &kernels, &crates)?;
    let made = forms(release, &tree)?;
    fs::create_dir_all(out)?;
    for (name, file) in made.files() {
        let path = out.join(name);
        durable_files::publish_bytes(&path, &file.bytes)
            .with_context(|| format!("cannot write {}", path.display()))?;
        report(&format!("{:>12}  {}", file.bytes.len(), path.display()));
    }
    Ok(())
}

/// Returns the files of the release's directory.
fn forms(release: &Release, tree: &Tree) -> Result<Tree> {
    let name = release.name();
    let archive = content::of_archive(tree).below(&name);
    let archive = archive::gzip(&archive::tar(&archive, release.epoch_s)?)?;
    let deb = deb::package(release, &content::of_debian_package(tree)?)?;
    let rpm = rpm_package::package(release, &content::of_package(tree)?)?;
    let mut forms = Tree::default();
    forms.insert(format!("{name}.tar.gz"), DATA, archive);
    forms.insert(deb::file_name(release), DATA, deb);
    forms.insert(rpm_package::file_name(release), DATA, rpm);
    forms.insert("install.sh", PROGRAM, content::INSTALLER);
    forms.insert(content::SUMS, DATA, forms.sha256_sums());
    Ok(forms)
}

#[expect(clippy::print_stdout, reason = "the paths are the program's result")]
fn report(line: &str) {
    println!("{line}");
}
