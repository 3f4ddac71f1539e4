use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::case::Case;
use crate::run::quiet;

/// Lines of `dumpe2fs` that have to be the same.
const SAME: [&str; 19] = [
    "Filesystem magic number",
    "Filesystem revision #",
    "Filesystem features",
    "Default mount options",
    "Errors behavior",
    "Inode count",
    "Block count",
    "Reserved block count",
    "First block",
    "Block size",
    "Group descriptor size",
    "Blocks per group",
    "Inodes per group",
    "Inode blocks per group",
    "Flex block group size",
    "First inode",
    "Inode size",
    "Required extra isize",
    "Total journal blocks",
];
/// What mke2fs has on an empty disk and we have not: `lost+found`, an inode of four blocks.
const LOST_FOUND_BLOCKS: u64 = 4;

/// Compares an empty disk with what mke2fs makes from the same parameters: the superblock, what is
/// free, and where each group has its metadata.
pub(super) fn check(case: &Case, path: &Path) -> Result<()> {
    case.empty().write(path)?;
    let ours = Dump::of(path)?;
    let theirs_path = path.with_extension("mke2fs");
    std::fs::File::create(&theirs_path)?.set_len(case.options.size_bytes)?;
    let journal_blocks: u64 = ours.number("Total journal blocks")?;
    let mut mke2fs = Command::new("mke2fs");
    mke2fs.args([
        "-q", "-F", "-t", "ext4", "-b", "4096", "-i", "16384", "-I", "256", "-m", "0",
    ]);
    mke2fs.args(["-O", "^resize_inode,^orphan_file,^metadata_csum_seed"]);
    mke2fs.args(["-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"]);
    mke2fs
        .arg("-J")
        .arg(format!("size={}", journal_blocks / 256));
    quiet(mke2fs.arg(&theirs_path))?;
    let theirs = Dump::of(&theirs_path)?;
    std::fs::remove_file(&theirs_path)?;
    for name in SAME {
        let (one, other) = (ours.field(name)?, theirs.field(name)?);
        ensure!(one == other, "{name}: {one}, mke2fs has {other}");
    }
    let free = |name, more| -> Result<()> {
        let (one, other) = (ours.number(name)?, theirs.number(name)? + more);
        ensure!(
            one == other,
            "{name}: {one}, mke2fs has {other} without lost+found"
        );
        Ok(())
    };
    free("Free blocks", LOST_FOUND_BLOCKS)?;
    free("Free inodes", 1)?;
    let (one, other) = (ours.places(), theirs.places());
    ensure!(one.len() > 2, "dumpe2fs names no places");
    for (one, other) in one.iter().zip(&other) {
        ensure!(one == other, "{one}, mke2fs has {other}");
    }
    ensure!(one.len() == other.len(), "another number of groups");
    Ok(())
}

/// What `dumpe2fs` says.
struct Dump(String);

impl Dump {
    fn of(path: &Path) -> Result<Self> {
        let output = quiet(Command::new("dumpe2fs").arg(path))?;
        Ok(Self(String::from_utf8(output.stdout)?))
    }

    fn field(&self, name: &str) -> Result<&str> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|rest| rest.strip_prefix(':'));
        Ok(value
            .with_context(|| format!("dumpe2fs has no {name}"))?
            .trim())
    }

    fn number(&self, name: &str) -> Result<u64> {
        Ok(self.field(name)?.parse()?)
    }

    /// Where groups begin, and where their superblocks, descriptors, bitmaps and tables lie;
    /// without the checksums.
    fn places(&self) -> Vec<String> {
        let shown = ["Group ", "superblock at", "bitmap at", "table at"];
        let is_place = |line: &&str| shown.iter().any(|word| line.contains(word));
        self.0
            .lines()
            .skip_while(|line| !line.starts_with("Group 0"))
            .filter(is_place)
            .map(|line| {
                let end = if line.starts_with("Group ") {
                    line.find(" csum")
                        .or_else(|| line.find(" ["))
                        .unwrap_or(line.len())
                } else {
                    line.len()
                };
                let line = &line[..end];
                let csum = line.find(", csum");
                csum.map_or(line, |at| &line[..at]).trim().to_owned()
            })
            .collect()
    }
}
