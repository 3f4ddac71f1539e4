//! Small disk images of `qemu-img`, and partition tables of `sfdisk`.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use fs_err as fs;

use test_fixtures::command::quiet;
use test_fixtures::paths;

/// Length of the blocks that the target lays an input out in, in bytes.
const BLOCK_BYTES: usize = 512;
/// Size of the disks, in bytes.
const DISK_BYTES: usize = 512 << 10;

/// Returns images of each format, with and without compression, and of each partition table.
pub(super) fn images() -> Result<Vec<(String, Vec<u8>)>> {
    let scratch = paths::scratch("fuzz-disk-image")?;
    let raw = scratch.join("raw");
    let mut disk = vec![0; DISK_BYTES];
    for (at, byte) in disk[70_000..80_000].iter_mut().enumerate() {
        *byte = b"disk image "[at / 3 % 11];
    }
    fs::write(&raw, disk)?;
    let mut seeds = Vec::new();
    for (name, options) in [
        ("qcow2", "-O qcow2 -o cluster_size=1024"),
        ("qcow2-deflate", "-c -O qcow2 -o cluster_size=4096"),
        (
            "qcow2-zstd",
            "-c -O qcow2 -o cluster_size=4096,compression_type=zstd",
        ),
        ("vmdk", "-O vmdk"),
        ("vmdk-stream", "-O vmdk -o subformat=streamOptimized"),
    ] {
        let image = scratch.join(name);
        let mut convert = Command::new("qemu-img");
        convert
            .args(["convert", "-f", "raw"])
            .args(options.split(' '));
        quiet(convert.args([&raw, &image]))?;
        seeds.push((
            name.to_owned(),
            pieces(&without_random_id(fs::read(&image)?)),
        ));
    }
    for (name, script) in [
        (
            "gpt",
            "label: gpt\nlabel-id: 00000000-0000-4000-8000-000000000001\nsize=128KiB,uuid=00000000-0000-4000-8000-000000000002\n",
        ),
        (
            "mbr",
            "label: dos\nlabel-id: 0x1\nsize=64KiB\nsize=200KiB,type=5\nsize=32KiB\nsize=32KiB\n",
        ),
    ] {
        seeds.push((
            name.to_owned(),
            pieces(&partitioned(&scratch, name, script)?),
        ));
    }
    Ok(seeds)
}

fn partitioned(scratch: &Path, name: &str, script: &str) -> Result<Vec<u8>> {
    let (disk, input) = (scratch.join(name), scratch.join("script"));
    fs::write(&disk, vec![0; DISK_BYTES])?;
    fs::write(&input, script)?;
    let sfdisk = "sfdisk -q \"$1\" < \"$2\"";
    quiet(
        Command::new("sh")
            .args(["-c", sfdisk, "sh"])
            .args([&disk, &input]),
    )?;
    Ok(fs::read(disk)?)
}

/// Replaces the random content id of a VMDK, so that the same recipe gives the same images.
fn without_random_id(mut image: Vec<u8>) -> Vec<u8> {
    let key = b"\nCID=";
    let found = image.windows(key.len()).position(|window| window == key);
    if let Some(id) = found.and_then(|at| image.get_mut(at + key.len()..at + key.len() + 8)) {
        id.copy_from_slice(b"00000001");
    }
    image
}

/// Returns the blocks that are not zeros, each after its number.
fn pieces(image: &[u8]) -> Vec<u8> {
    let blocks = (0_u16..).zip(image.chunks(BLOCK_BYTES));
    let used = blocks.filter(|(_, block)| block.iter().any(|byte| *byte != 0));
    used.flat_map(|(number, block)| [&number.to_le_bytes()[..], block].concat())
        .collect()
}
