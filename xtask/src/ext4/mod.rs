//! ext4 images of many sizes and contents, judged by e2fsprogs and the kernel.

mod case;
mod crash;
mod likeness;
mod random;
mod resize;
mod used;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::place;
use crate::run::step;
use case::Case;

/// How much to judge.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How many images to write and check
    #[arg(long, default_value_t = 40)]
    pub(crate) count: u64,
    /// The first image's number: each image follows from its number
    #[arg(long, default_value_t = 0)]
    pub(crate) first: u64,
    /// How many images to use in the host's kernel, and to crash
    #[arg(long, default_value_t = 3)]
    pub(crate) used: u64,
    /// Where images are written; a file system in memory is the fastest
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) work: Option<PathBuf>,
}

/// What was judged, for the last line.
#[derive(Debug, Default)]
struct Tally {
    images: u64,
    alike: u64,
    resized: u64,
    used: u64,
    crashes: u64,
    replayed_blocks: u64,
}

/// Writes and judges images; fails at the first that is not right.
pub(crate) fn run(arguments: &Arguments) -> Result<String> {
    let work = match &arguments.work {
        Some(directory) => directory.join(format!("ext4-{}", std::process::id())),
        None => place::scratch("ext4")?,
    };
    fs::create_dir_all(&work)?;
    let path = work.join("image");
    let mut tally = Tally::default();
    step("ext4: images of many sizes, judged by e2fsck and our reader");
    for number in arguments.first..arguments.first.saturating_add(arguments.count) {
        let case = Case::of(number);
        let told = || format!("image {number}, {} bytes", case.options.size_bytes);
        case.write(&path).with_context(told)?;
        case.judge(&path).with_context(told)?;
        tally.images += 1;
        if number % 8 == 1 {
            likeness::check(&case, &path).with_context(told)?;
            tally.alike += 1;
        }
        if number % 8 == 2 && resize::check(&case, &path).with_context(told)? {
            tally.resized += 1;
        }
        fs::remove_file(&path)?;
        if tally.images % 100 == 0 {
            eprintln!("{} images", tally.images);
        }
    }
    step("ext4: images that the kernel used, and that it lost");
    for number in 0..arguments.used {
        let told = || format!("use {number}");
        used::check(number, &path).with_context(told)?;
        tally.used += 1;
        let outcome = crash::check(number, &work).with_context(told)?;
        tally.crashes += outcome.crashes;
        tally.replayed_blocks += outcome.replayed_blocks;
    }
    ensure!(
        arguments.used == 0 || tally.replayed_blocks > 0,
        "no crash left anything in the journal"
    );
    fs::remove_dir_all(&work)?;
    let Tally {
        images,
        alike,
        resized,
        used,
        crashes,
        replayed_blocks,
    } = tally;
    Ok(format!(
        "{images} images accepted by e2fsck -fn and read back whole, {alike} of them laid out as \
         mke2fs does, {resized} resized; {used} used by the kernel, {crashes} crashes recovered as \
         e2fsck does it ({replayed_blocks} blocks replayed)"
    ))
}
