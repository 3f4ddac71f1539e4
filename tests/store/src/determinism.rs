use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};

use test_support::{TestEnv, listing, succeed};

/// Loads an image repeatedly, on one processor and on all, and compares the stored bytes.
pub(crate) fn same_bytes_every_time(env: &TestEnv, count: u32) -> Result<String> {
    let processors = std::thread::available_parallelism()?.get();
    let mut first = None;
    for run in 0..count {
        let msb = env.msb_at("again")?;
        let last = usize::try_from(run)? % processors;
        let mut load = Command::new("taskset");
        load.args(["--cpu-list", &format!("0-{last}")])
            .arg(&msb.program)
            .env("MSB_HOME", &msb.home)
            .args(["load", "-q", "-t", "same:1"])
            .arg(env.small_image()?);
        succeed(&mut load)?;
        let listing = listing::list(&msb.home)?;
        let expected = first.get_or_insert_with(|| listing.clone());
        ensure!(
            *expected == listing,
            "run {run}: {}",
            listing::difference(expected, &listing)
        );
        fs::remove_dir_all(&msb.home)?;
    }
    let files = first.map_or(0, |listing| listing.len());
    Ok(format!(
        "{count} loads on 1 to {processors} processors: the same {files} files"
    ))
}
