use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::run::{quiet, step};
use crate::{place, tools};

/// The package that holds the guest kernel; only newer Debian releases have it.
const PACKAGE: &str = "libkrunfw5";
const SUITE: &str = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
    http://deb.debian.org/debian sid main\n";

/// The guest kernel's library, fetched the first time: `MSB_KERNEL` where it is set.
///
/// The package is unpacked beside the build, not installed, and apt works on lists of its own, so
/// nothing of the host's changes.
pub(crate) fn fetch() -> Result<PathBuf> {
    if let Some(kernel) = std::env::var_os("MSB_KERNEL") {
        return Ok(kernel.into());
    }
    tools::install()?;
    let directory = place::kept("kernel")?;
    if let Some(library) = find(&directory.join("unpacked"))? {
        return Ok(library);
    }
    step("fetch the guest kernel (package libkrunfw5 of Debian sid)");
    download(&directory)?;
    let package = fs::read_dir(&directory)?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .context("apt downloaded no package")?;
    quiet(
        Command::new("dpkg-deb")
            .arg("-x")
            .arg(package)
            .arg(directory.join("unpacked")),
    )?;
    find(&directory.join("unpacked"))?.context("the package holds no libkrunfw.so")
}

fn download(directory: &Path) -> Result<()> {
    let sources = directory.join("sources.list");
    fs::write(&sources, SUITE)?;
    for name in ["state/lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(directory.join(name))?;
    }
    let option = |name: &str, value: &Path| format!("-o{name}={}", value.display());
    let options = [
        option("Dir::Etc::sourcelist", &sources),
        option("Dir::Etc::sourceparts", Path::new("-")),
        option("Dir::State", &directory.join("state")),
        option("Dir::State::status", Path::new("/var/lib/dpkg/status")),
        option("Dir::Cache", &directory.join("cache")),
        "-oAPT::Sandbox::User=root".to_owned(),
    ];
    quiet(Command::new("apt-get").args(&options).arg("update"))?;
    quiet(
        Command::new("apt-get")
            .args(&options)
            .args(["download", PACKAGE])
            .current_dir(directory),
    )?;
    Ok(())
}

fn find(unpacked: &Path) -> Result<Option<PathBuf>> {
    let Ok(triplets) = fs::read_dir(unpacked.join("usr/lib")) else {
        return Ok(None);
    };
    for triplet in triplets {
        for entry in fs::read_dir(triplet?.path())? {
            let path = entry?.path();
            let is_library = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("libkrunfw.so."));
            if is_library && !path.is_symlink() {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

/// The kernel as an ELF that QEMU boots directly.
pub(crate) fn elf() -> Result<PathBuf> {
    let library = fetch()?;
    let elf = place::kept("kernel")?.join("vmlinux.elf");
    let wrapped = guest_kernel::wrap(&fs::read(&library)?)
        .with_context(|| format!("cannot wrap {}", library.display()))?;
    fs::write(&elf, wrapped.image)?;
    Ok(elf)
}
