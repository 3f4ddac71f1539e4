use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use test_fixtures::images;
use test_support::harness::{self, Trial};
use test_support::trees::concatenate;
use test_support::{Artifacts, Msb, TestEnv, succeed};

const NAME: &str = "oracle.test/image:latest";
/// The least number of layers of the image: fewer would prove little.
const LAYERS_MIN: usize = 10;

/// Returns the test of an image's artifacts.
pub(crate) fn tests() -> Vec<Trial> {
    let name = "artifacts::fsck_erofs_and_qemu_img_accept_them";
    vec![harness::test(name, accepted)]
}

fn accepted() -> Result<String> {
    let env = TestEnv::new("artifacts")?;
    let msb = env.msb_at("home")?;
    msb.load(&images::demo()?, NAME)?;
    let layers = check(&msb, NAME, &env.work)?;
    ensure!(layers >= LAYERS_MIN, "the image has {layers} layers");
    env.remove_work()?;
    Ok(format!("{layers} layers"))
}

/// Checks every artifact of an image with the tools that own its format. Returns the number of
/// layers.
fn check(msb: &Msb, name: &str, work: &Path) -> Result<usize> {
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

/// Checks that QEMU reads the VMDK as exactly the concatenation of its parts.
fn compare_disk(artifacts: &Artifacts, flat: &Path) -> Result<()> {
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
