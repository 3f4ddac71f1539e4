//! Small ext4 images of `mke2fs`, so that the corpus has images that msb did not write.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use fs_err as fs;

use test_fixtures::command::quiet;
use test_fixtures::paths;

/// Block size of the images, and of the inputs made from them, in bytes.
const BLOCK_BYTES: usize = 1024;
/// Size of the image into which the target expands an input, in blocks.
const IMAGE_BLOCKS: u32 = 2500;
/// A fixed UUID, so that the same recipe gives the same images.
const UUID: &str = "00000000-0000-4000-8000-000000000001";
/// Seconds since 1970, for all times that the tools set.
const TIME: &str = "1700000000";

/// Returns images with and without checksums, and one whose journal has to be replayed.
pub(super) fn images() -> Result<Vec<(String, Vec<u8>)>> {
    let scratch = paths::scratch("fuzz-ext4")?;
    let files = scratch.join("files");
    plant(&files)?;
    let mut seeds = Vec::new();
    for (name, features, replayed) in [
        ("checksums", "metadata_csum", false),
        ("plain", "^metadata_csum", false),
        ("needs-recovery", "^metadata_csum", true),
    ] {
        let image = scratch.join(name);
        make(&image, features, &files)?;
        if replayed {
            leave_a_transaction(&image, &scratch)?;
        }
        seeds.push((name.to_owned(), pieces(&fs::read(&image)?)));
    }
    Ok(seeds)
}

fn plant(files: &Path) -> Result<()> {
    fs::create_dir_all(files.join("directory"))?;
    fs::write(files.join("file"), "hello\n")?;
    symlink("file", files.join("link"))?;
    for number in 0..30 {
        let name = format!("a-name-that-takes-a-good-deal-of-a-block-{number}");
        fs::write(files.join("directory").join(name), "")?;
    }
    Ok(())
}

fn make(image: &Path, features: &str, files: &Path) -> Result<()> {
    let mut mke2fs = Command::new("mke2fs");
    mke2fs
        .args(["-q", "-F", "-t", "ext4", "-b", &BLOCK_BYTES.to_string()])
        .args(["-N", "64", "-J", "size=1", "-U", UUID])
        .args(["-E", &format!("hash_seed={UUID},root_owner=0:0")])
        .args(["-O", features, "-d"])
        .args([files, image])
        .arg(IMAGE_BLOCKS.to_string())
        .env("E2FSPROGS_FAKE_TIME", TIME);
    quiet(&mut mke2fs)?;
    Ok(())
}

/// Writes two blocks of zeros in a committed transaction, as after a power cut.
fn leave_a_transaction(image: &Path, scratch: &Path) -> Result<()> {
    let commands = scratch.join("commands");
    fs::write(&commands, "jo\njw -b 2000,2001 /dev/zero\njc\n")?;
    let mut debugfs = Command::new("debugfs");
    debugfs
        .args(["-w", "-f"])
        .args([&commands, image])
        .env("E2FSPROGS_FAKE_TIME", TIME);
    quiet(&mut debugfs)?;
    Ok(())
}

/// Returns the image as the target reads it: each block that is not all zeros, after its number.
fn pieces(image: &[u8]) -> Vec<u8> {
    let mut pieces = Vec::new();
    for (number, block) in (0..).zip(image.chunks(BLOCK_BYTES)) {
        if block.iter().any(|&byte| byte != 0) {
            pieces.extend(u16::to_le_bytes(number));
            pieces.extend(block);
        }
    }
    pieces
}
