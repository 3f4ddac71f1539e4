use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};

use super::Ground;
use crate::oracle::{self, succeed};

/// Loads an image on one processor and on all, again and again: the same bytes each time.
pub(crate) fn same_bytes_every_time(ground: &Ground<'_>, count: u32) -> Result<String> {
    let processors = std::thread::available_parallelism()?.get();
    let mut first = None;
    for run in 0..count {
        let msb = ground.msb("again")?;
        let last = usize::try_from(run)? % processors;
        let mut load = Command::new("taskset");
        load.args(["--cpu-list", &format!("0-{last}")])
            .arg(&msb.program)
            .env("MSB_HOME", &msb.home)
            .args(["load", "-q", "-t", "same:1"])
            .arg(ground.small);
        succeed(&mut load)?;
        let listing = oracle::list(&msb.home)?;
        let expected = first.get_or_insert_with(|| listing.clone());
        ensure!(
            *expected == listing,
            "run {run}: {}",
            oracle::difference(expected, &listing)
        );
        fs::remove_dir_all(&msb.home)?;
    }
    let files = first.map_or(0, |listing| listing.len());
    Ok(format!(
        "{count} loads on 1 to {processors} processors: the same {files} files"
    ))
}
