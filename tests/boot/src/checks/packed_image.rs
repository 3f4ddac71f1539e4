//! An image whose layers are packed, as a guest sees it.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use test_support::{TestEnv, expect_code};

use super::snapshots::told;

/// Prints a checksum of the content of all files of the image, and another of their names, modes and owners. Files that
/// msb writes for each sandbox are left out.
const SUM: &str = "set -- / -xdev ! -path '/etc/host*' ! -path '/etc/resolv.conf' ! -path '/run/*' \
    ! -path '/tmp/*'; find \"$@\" -type f -exec md5sum {} + | sort | md5sum; \
    find \"$@\" -exec stat -c '%A %u %g %n' {} + | sort | md5sum";

/// Checks that a sandbox finds the same files in a packed image as in the plain one: at its first start, when the cache
/// files have nothing, and at a second one, when bytes of them have changed.
pub(super) fn same_files(env: &TestEnv) -> Result<()> {
    let image = env.image();
    let plain = sums(env)?;
    told(env, &["image", "pack", image])?;
    let found = same_files_in_all_forms(env, &plain);
    // Later checks find the image as it was.
    told(env, &["image", "unpack", image])?;
    found
}

fn same_files_in_all_forms(env: &TestEnv, plain: &str) -> Result<()> {
    let layers = env.home_msb().inspect(env.image())?.layers;
    for layer in &layers {
        ensure!(!layer.exists(), "{} is still there", layer.display());
        ensure!(layer.with_extension("packed").exists(), "it is not packed");
    }
    let packed = sums(env)?;
    ensure!(packed == plain, "packed: {packed}, plain: {plain}");
    let cached = cache_bytes(&layers)?;
    ensure!(cached > 0, "nothing was kept in the cache files");
    // Each read proves the bytes of the cache files again.
    for layer in &layers {
        let cache = layer.with_extension("cache");
        let mut bytes = fs::read(&cache)?;
        for block in bytes.chunks_mut(4096).step_by(3) {
            if let Some(byte) = block.get_mut(1000) {
                *byte ^= 1;
            }
        }
        fs::write(&cache, bytes)?;
    }
    ensure!(sums(env)? == plain, "changed cache files gave other files");
    Ok(())
}

/// Returns the checksums of the image's files, as a guest reads them.
fn sums(env: &TestEnv) -> Result<String> {
    let output = env.run(&["--network", "none"], &["sh", "-c", SUM])?;
    expect_code(&output, 0)?;
    let text = String::from_utf8(output.stdout).context("the checksums are no text")?;
    ensure!(text.lines().count() == 2, "not two checksums: {text}");
    Ok(text)
}

/// Returns the space that the cache files of layers take, in bytes.
fn cache_bytes(layers: &[PathBuf]) -> Result<u64> {
    let mut bytes = 0;
    for layer in layers {
        bytes += fs::metadata(layer.with_extension("cache"))?.blocks() * 512;
    }
    Ok(bytes)
}
