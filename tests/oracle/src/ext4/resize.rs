use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use ext4_writer::Image;
use testkit::{Content, TreeDump};

use super::case::{Case, dump, e2fsck, same};
use test_fixtures::command::quiet;

/// The largest disk that is grown here, in bytes.
const SIZE_MAX_BYTES: u64 = 40 << 30;

/// Lets resize2fs grow the disk by a half, then shrink it as far as possible. Nothing may be lost.
/// Returns true if the disk was small enough to try this.
pub(super) fn check(case: &Case, path: &Path) -> Result<bool> {
    let size_bytes = case.options.size_bytes;
    if size_bytes > SIZE_MAX_BYTES {
        return Ok(false);
    }
    let expected = TreeDump::from_tree(&case.tree, |content| Content::read(content.as_slice()))?;
    OpenOptions::new()
        .write(true)
        .open(path)?
        .set_len(size_bytes / 2 * 3)?;
    for shrink in [false, true] {
        let mut resize2fs = Command::new("resize2fs");
        if shrink {
            resize2fs.arg("-M");
        }
        quiet(resize2fs.arg(path))?;
        e2fsck(path)?;
        let image = Image::open(File::open(path)?)?;
        image.verify()?;
        same(&expected, &dump(&image)?)?;
    }
    Ok(true)
}
