use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::{Msb, succeed};

/// Every artifact of an image is accepted by the tools that own its format. Gives the number of
/// layers.
pub(crate) fn check_artifacts(msb: &Msb, name: &str, work: &Path) -> Result<usize> {
    let artifacts = msb.inspect(name)?;
    for layer in &artifacts.layers {
        succeed(Command::new("fsck.erofs").arg("--extract").arg(layer))?;
    }
    let flat = work.join("flat.img");
    concatenate(&artifacts, &flat)?;
    let mut check = Command::new("fsck.erofs");
    for layer in &artifacts.layers {
        check.arg(format!("--device={}", layer.display()));
    }
    succeed(check.arg("--extract").arg(&flat))?;
    compare_disk(&artifacts, &flat)?;
    fs::remove_file(flat)?;
    Ok(artifacts.layers.len())
}

/// QEMU reads the VMDK as exactly the concatenation of its parts.
fn compare_disk(artifacts: &super::Artifacts, flat: &Path) -> Result<()> {
    let output = succeed(
        Command::new("qemu-img")
            .args(["compare", "-f", "raw", "-F", "vmdk"])
            .arg(flat)
            .arg(&artifacts.vmdk),
    )?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(said.contains("Images are identical"), "qemu-img: {said}");
    Ok(())
}

/// `fsmeta.erofs` and the layers, one after the other.
pub(super) fn concatenate(artifacts: &super::Artifacts, flat: &Path) -> Result<()> {
    let mut out = fs::File::create(flat)?;
    for part in std::iter::once(&artifacts.fsmeta).chain(&artifacts.layers) {
        std::io::copy(&mut fs::File::open(part)?, &mut out)?;
    }
    Ok(())
}
