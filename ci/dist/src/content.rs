//! The files that a release installs.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use fs_err as fs;
use test_fixtures::command::quiet;
use test_fixtures::paths;

use crate::archive::gzip;
use crate::dependencies::Crate;
use crate::kernel::Kernels;
use crate::programs::Programs;
use crate::release::Release;
use crate::tree::{DATA, PROGRAM, Tree};
use crate::{licences, sbom};

/// The name of the file with the digests of others.
pub(crate) const SUMS: &str = "SHA256SUMS";
/// The script that installs an archive.
pub(crate) const INSTALLER: &[u8] = include_bytes!("../install.sh");
/// The directory of the licences and of other documents.
const DOCUMENTS: &str = "share/doc/msb";
/// The directory of the manual pages.
const PAGES: &str = "share/man/man1/";
/// The shells that completions exist for, and the file in which each of them looks.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/msb"),
    ("zsh", "share/zsh/site-functions/_msb"),
    ("fish", "share/fish/vendor_completions.d/msb.fish"),
];
/// The licences of the GNU project, as Debian keeps them.
const GNU_LICENCES: &str = "/usr/share/common-licenses";

/// Returns the files, with paths from the prefix that they are installed to.
///
/// # Errors
/// If a program does not run, or a file cannot be read.
pub(crate) fn tree(
    release: &Release,
    programs: &Programs,
    kernels: &Kernels,
    crates: &[Crate],
) -> Result<Tree> {
    let mut tree = Tree::default();
    tree.insert("bin/msb", PROGRAM, fs::read(&programs.msb)?);
    tree.insert("bin/msb-bench", PROGRAM, fs::read(&programs.bench)?);
    let forms = [
        ("vmlinux", "kernel", &kernels.usual),
        (
            "vmlinux-filesystems",
            "kernel-filesystems",
            &kernels.with_filesystems,
        ),
    ];
    for (name, _, kernel) in forms {
        tree.insert(format!("lib/msb/{name}"), DATA, kernel.bytes.clone());
    }
    for (shell, path) in COMPLETIONS {
        let output = quiet(Command::new(&programs.msb).args(["completion", shell]))?;
        tree.insert(path, DATA, output.stdout);
    }
    add_pages(&mut tree, &programs.msb)?;
    let mut document = |name: &str, bytes: Vec<u8>| {
        tree.insert(format!("{DOCUMENTS}/{name}"), DATA, bytes);
    };
    let licence = fs::read(paths::root().join("LICENSE"))?;
    document("LICENSE", licence);
    document(
        "THIRD-PARTY-LICENSES.txt",
        licences::report(crates)?.into_bytes(),
    );
    for (_, directory, kernel) in forms {
        for (name, file) in kernel.source.files() {
            document(&format!("{directory}/{name}"), file.bytes.clone());
        }
    }
    for name in ["GPL-2", "LGPL-2.1"] {
        document(name, fs::read(Path::new(GNU_LICENCES).join(name))?);
    }
    document(
        "msb.cdx.json",
        sbom::document(release, crates, kernels)?.into_bytes(),
    );
    Ok(tree)
}

fn add_pages(tree: &mut Tree, msb: &Path) -> Result<()> {
    let directory = paths::scratch("dist-man")?;
    quiet(Command::new(msb).arg("man").arg(&directory))?;
    for entry in fs::read_dir(&directory)? {
        let entry = entry?;
        let name = entry.file_name().into_string();
        let name = name.ok().context("the name of a manual page is text")?;
        tree.insert(format!("{PAGES}{name}"), DATA, fs::read(entry.path())?);
    }
    Ok(())
}

/// Returns the content of the archive: the files, the script that installs them, and the digests
/// of all.
pub(crate) fn of_archive(tree: &Tree) -> Tree {
    let mut archive = tree.clone();
    archive.insert("install.sh", PROGRAM, INSTALLER);
    archive.insert(SUMS, DATA, archive.sha256_sums());
    archive
}

/// Returns the content of a distribution's package: below `usr`, with compressed manual pages.
///
/// # Errors
/// None in memory.
pub(crate) fn of_package(tree: &Tree) -> Result<Tree> {
    let mut package = Tree::default();
    for (path, file) in tree.files() {
        if path.starts_with(PAGES) {
            package.insert(format!("usr/{path}.gz"), file.mode, gzip(&file.bytes)?);
        } else {
            package.insert(format!("usr/{path}"), file.mode, file.bytes.clone());
        }
    }
    Ok(package)
}

/// Returns the content of Debian's package, whose licences are in the file that Debian names.
///
/// # Errors
/// If the licence is missing.
pub(crate) fn of_debian_package(tree: &Tree) -> Result<Tree> {
    let package = of_package(tree)?;
    Ok(package.renamed(|path| {
        let licence = format!("usr/{DOCUMENTS}/LICENSE");
        if path == licence {
            format!("usr/{DOCUMENTS}/copyright")
        } else {
            path.to_owned()
        }
    }))
}
