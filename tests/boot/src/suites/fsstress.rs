use std::path::Path;

use anyhow::Result;

use super::guest::{Filesystem, Guest};
use super::{InGuest, Outcome, programs};

const SEEDS: std::ops::RangeInclusive<u32> = 1..=4;

/// Four processes with random operations in one tree, which is then walked and removed.
pub(super) struct Fsstress;

impl InGuest for Fsstress {
    fn prepare(directory: &Path) -> Result<()> {
        programs::copy(&super::named(super::FSSTRESS)?, &directory.join("fsstress"))
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
