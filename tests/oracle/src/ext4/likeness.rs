use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::case::Case;
use test_fixtures::command::quiet;

/// Lines of `dumpe2fs` that have to be equal.
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
/// Number of groups whose metadata lies together.
const GROUPS_PER_FLEX: usize = 16;
/// Blocks that only mke2fs uses on an empty disk: `lost+found`, an inode of four blocks.
const LOST_FOUND_BLOCKS: u64 = 4;

/// Compares an empty disk with one that mke2fs makes from the same parameters. The superblock, the
/// free space and the position of each group's metadata are compared.
pub(super) fn check(case: &Case, path: &Path) -> Result<()> {
    case.empty().write(path)?;
    let ours = Dump::read(path)?;
    // mke2fs keeps the inodes of a last group that it leaves out, so it gets a size without that
    // group. First it is checked that it leaves out the same group.
    let blocks = ours.field("Block count")?;
    let as_large = mke2fs(case, &ours, path, None)?;
    let other = as_large.field("Block count")?;
    ensure!(blocks == other, "{blocks} blocks, mke2fs has {other}");
    let theirs = mke2fs(case, &ours, path, Some(blocks))?;
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
    ensure!(one.len() >= 2, "dumpe2fs names no places");
    for (one, other) in one.iter().zip(&other) {
        ensure!(one == other, "{one}, mke2fs has {other}");
    }
    ensure!(one.len() == other.len(), "another number of groups");
    Ok(())
}

/// Makes a disk with mke2fs, of `blocks` blocks or of the whole size, and dumps it.
fn mke2fs(case: &Case, ours: &Dump, path: &Path, blocks: Option<&str>) -> Result<Dump> {
    let theirs = path.with_extension("mke2fs");
    std::fs::File::create(&theirs)?.set_len(case.options.size_bytes)?;
    let journal_mib = ours.number("Total journal blocks")? / 256;
    let mut mke2fs = Command::new("mke2fs");
    mke2fs.args(["-q", "-F", "-t", "ext4", "-b", "4096", "-i", "16384"]);
    mke2fs.args(["-I", "256", "-m", "0"]);
    mke2fs.args(["-O", "^resize_inode,^orphan_file,^metadata_csum_seed"]);
    mke2fs.args(["-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"]);
    mke2fs.arg("-J").arg(format!("size={journal_mib}"));
    quiet(mke2fs.arg(&theirs).args(blocks))?;
    let dump = Dump::read(&theirs)?;
    std::fs::remove_file(&theirs)?;
    Ok(dump)
}

/// The output of `dumpe2fs`.
struct Dump(String);

impl Dump {
    fn read(path: &Path) -> Result<Self> {
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

    /// Returns the positions of each group and its superblock. The bitmaps and tables are those of
    /// whole flex groups: in the last one mke2fs leaves room for more groups.
    fn places(&self) -> Vec<String> {
        let begun = |line: &&str| line.starts_with("Group ") && line.contains("(Blocks ");
        let groups = self.0.lines().filter(begun).count();
        let mut number = 0;
        let mut places = Vec::new();
        for line in self.0.lines().skip_while(|line| !begun(line)) {
            if begun(&line) {
                number += 1;
            }
            let is_whole = number <= groups / GROUPS_PER_FLEX * GROUPS_PER_FLEX;
            let is_table = line.contains("bitmap at") || line.contains("table at");
            if begun(&line) || line.contains("superblock at") || (is_table && is_whole) {
                // Checksums follow from the UUID, flags from the content of a group.
                let end =
                    [" csum", ", csum", " ["].map(|mark| line.find(mark).unwrap_or(line.len()));
                let end = end.into_iter().min().unwrap_or(0);
                places.push(line[..end].trim().to_owned());
            }
        }
        places
    }
}
