//! ext4 images of many sizes and contents, judged by e2fsprogs and the kernel.

mod case;
mod crash;
mod likeness;
mod random;
mod resize;
mod used;

use std::fs;

use anyhow::{Context as _, Result, ensure};

use case::Case;
use test_fixtures::command::step;
use test_fixtures::paths;
use test_fixtures::tools;
use test_support::harness::{self, Trial};
use test_support::settings;

/// Number of images that are written and checked; each follows from its number.
const IMAGES: u64 = 40;
/// Number of images that the host's kernel works in, by default.
const USES: u64 = 2;
const USED: &str = "MSB_TEST_USED";
/// The directory for the images; a filesystem in memory is the fastest.
const DIRECTORY: &str = "MSB_TEST_EXT4_DIRECTORY";

/// Returns the test of the images.
pub(crate) fn tests() -> Vec<Trial> {
    let name = "ext4::images_are_accepted_by_e2fsck_and_the_kernel";
    vec![harness::test(name, run)]
}

/// The numbers of images that passed each check, for the last line.
#[derive(Debug, Default)]
struct Tally {
    images: u64,
    alike: u64,
    resized: u64,
    used: u64,
    crashes: u64,
    replayed_blocks: u64,
}

/// Writes and judges images; fails at the first that is wrong.
fn run() -> Result<String> {
    tools::install()?;
    let first: u64 = settings::parsed(settings::FIRST)?.unwrap_or(0);
    let end = first.saturating_add(settings::count(IMAGES)?);
    let uses = settings::parsed(USED)?.unwrap_or(USES);
    let work = match settings::path(DIRECTORY) {
        Some(directory) => directory.join(format!("ext4-{}", std::process::id())),
        None => paths::scratch("ext4")?,
    };
    fs::create_dir_all(&work)?;
    let path = work.join("image");
    let mut tally = Tally::default();
    step("ext4: images of many sizes, judged by e2fsck and our reader");
    for number in first..end {
        let case = Case::generate(number);
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
    for number in 0..uses {
        let told = || format!("use {number}");
        used::check(number, &path).with_context(told)?;
        tally.used += 1;
        let outcome = crash::check(number, &work).with_context(told)?;
        tally.crashes += outcome.crashes;
        tally.replayed_blocks += outcome.replayed_blocks;
    }
    ensure!(
        uses == 0 || tally.replayed_blocks > 0,
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
