use std::path::Path;

use anyhow::{Context as _, Result};

use super::guest::{Filesystem, Guest};
use super::{Arguments, InGuest, Outcome, programs};

const SEEDS: std::ops::RangeInclusive<u32> = 1..=4;

/// Four processes that do random operations in one tree, which is then walked and removed.
pub(super) struct Fsstress;

impl InGuest for Fsstress {
    fn prepare(arguments: &Arguments, directory: &Path) -> Result<()> {
        let program = arguments.fsstress.as_deref();
        let program = program.context("name an fsstress with --fsstress PROGRAM")?;
        programs::copy(program, &directory.join("fsstress"))
    }

    fn run(guest: &Guest<'_>) -> Result<Outcome> {
        let mut runs = 0;
        let mut differences = Vec::new();
        for filesystem in Filesystem::ALL {
            for seed in SEEDS {
                let tree = format!("{}/fsstress", filesystem.directory());
                let script = format!(
                    "mkdir {tree} && /suites/fsstress -d {tree} -n 800 -p 4 -s {seed} && sync && \
                     find {tree} -printf '%s\\n' > /dev/null && rm -rf {tree} && dmesg | \
                     grep -E 'EXT4-fs (error|warning)|overlayfs:.*(fail|error)|BUG|WARNING' && exit 1; \
                     test ! -e {tree}"
                );
                let output = guest.tried(&script)?;
                runs += 1;
                if !output.status.success() {
                    differences.push(format!(
                        "{}, seed {seed}: {}",
                        filesystem.name(),
                        String::from_utf8_lossy(&output.stderr)
                    ));
                }
            }
        }
        Ok(Outcome {
            figures: format!("{runs} runs of 4 x 800 operations"),
            differences,
        })
    }
}
