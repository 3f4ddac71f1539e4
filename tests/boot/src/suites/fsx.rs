use std::path::Path;

use anyhow::Result;

use super::guest::{Filesystem, Guest};
use super::{InGuest, Outcome, programs};

const VERSION: &str = "0.3.2";
const OPERATIONS: u32 = 2500;
const SEEDS: std::ops::RangeInclusive<u32> = 1..=5;
/// A file of the image, which the first write copies up. It has at least as many bytes as one
/// operation of fsx touches.
const FILE_OF_IMAGE: &str = "/usr/bin/python3.11";

/// Random reads, writes, truncations and mappings of one file, each read compared.
pub(super) struct Fsx;

impl InGuest for Fsx {
    fn prepare(directory: &Path) -> Result<()> {
        programs::bring("fsx", VERSION, directory)
    }

    fn run(guest: &Guest<'_>) -> Result<Outcome> {
        let mut runs = 0;
        let mut differences = Vec::new();
        let mut exercise = |file: &str, seed: u32, before: &str| -> Result<()> {
            let script = format!(
                "{before} cd /tmp && /suites/fsx -q -N {OPERATIONS} -S {seed} {file} 2>&1 && rm {file}"
            );
            let output = guest.tried(&script)?;
            runs += 1;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stdout);
                let last: Vec<&str> = said.lines().rev().take(3).collect();
                differences.push(format!("{file}, seed {seed}: {last:?}"));
            }
            Ok(())
        };
        for filesystem in Filesystem::ALL {
            for seed in SEEDS {
                exercise(&format!("{}/fsx", filesystem.directory()), seed, "")?;
            }
        }
        // fsx begins with an empty file: the image's file is truncated after it was copied up.
        let copy_up = format!("printf x >> {FILE_OF_IMAGE} && : > {FILE_OF_IMAGE} &&");
        exercise(FILE_OF_IMAGE, *SEEDS.end() + 1, &copy_up)?;
        Ok(Outcome {
            figures: format!("{runs} runs of {OPERATIONS} operations"),
            differences,
        })
    }
}
