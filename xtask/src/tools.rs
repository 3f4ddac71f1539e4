use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::run::{quiet, shown, step};

/// A program that a recipe runs, and the Debian package that has it.
const TOOLS: [(&str, &str); 26] = [
    ("cc", "gcc"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("qemu-img", "qemu-utils"),
    ("skopeo", "skopeo"),
    ("umoci", "umoci"),
    ("fsck.erofs", "erofs-utils"),
    ("mkfs.erofs", "erofs-utils"),
    ("docker-registry", "docker-registry"),
    ("debootstrap", "debootstrap"),
    ("e2fsck", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("setfattr", "attr"),
    ("strace", "strace"),
    ("setcap", "libcap2-bin"),
    ("setpriv", "util-linux"),
    ("go", "golang-go"),
    ("mount", "mount"),
    ("script", "bsdutils"),
    ("pgrep", "procps"),
    ("curl", "curl"),
    ("tar", "tar"),
    ("gzip", "gzip"),
    ("zstd", "zstd"),
    ("dpkg-deb", "dpkg"),
    ("perl", "perl"),
];

/// What judges pages; large, and only tests need it.
const BROWSER: [(&str, &str); 1] = [("chromium", "chromium")];

/// Directories of programs that a user's `PATH` may lack.
const MORE_PATH: &str = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin";

/// Has every program that recipes need.
pub(crate) fn install() -> Result<()> {
    install_all(&TOOLS)
}

/// Has those too that only tests need.
pub(crate) fn install_for_tests() -> Result<()> {
    install_all(&[&TOOLS[..], &BROWSER].concat())
}

/// Installs the packages of the programs that are missing, and makes sure they are there then.
fn install_all(tools: &[(&str, &str)]) -> Result<()> {
    let mut packages: Vec<&str> = tools
        .iter()
        .filter(|(tool, _)| !is_here(tool))
        .map(|(_, package)| *package)
        .collect();
    packages.dedup();
    if packages.is_empty() {
        return Ok(());
    }
    let line = format!(
        "apt-get install --yes --no-install-recommends {}",
        packages.join(" ")
    );
    if !is_root()? {
        bail!("missing programs; as root, run: {line}");
    }
    step(&line);
    shown(&mut apt(&["update", "--quiet=2"]))?;
    let mut install = vec!["install", "--yes", "--quiet=2", "--no-install-recommends"];
    install.extend(&packages);
    shown(apt(&install).stdout(std::io::stderr()))?;
    for (tool, package) in tools {
        ensure!(
            is_here(tool),
            "the package {package} was installed, and {tool} is still missing"
        );
    }
    Ok(())
}

fn apt(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(arguments);
    command
}

fn is_here(tool: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{path}:{MORE_PATH}");
    path.split(':')
        .any(|directory| std::path::Path::new(directory).join(tool).is_file())
}

pub(crate) fn is_root() -> Result<bool> {
    Ok(quiet(Command::new("id").arg("-u"))?.stdout.trim_ascii() == b"0")
}
