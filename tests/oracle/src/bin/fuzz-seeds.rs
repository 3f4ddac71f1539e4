//! Writes the initial corpus of fuzzing to `fuzz/corpus`, which the repository keeps.

use anyhow::Result;
use test_fixtures::paths;

fn main() -> Result<()> {
    println!(
        "{}",
        oracle::fuzz_seeds::write(&paths::root().join("fuzz/corpus"))?
    );
    Ok(())
}
