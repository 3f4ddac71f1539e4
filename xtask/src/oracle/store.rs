use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

use super::Msb;

/// A store's files by path, each with the digest of its content.
pub(crate) type Listing = BTreeMap<PathBuf, String>;

const NAME: &str = "oracle.test/image:latest";

/// The same image in two stores: the same files with the same bytes.
pub(crate) fn load_twice(program: &Path, layout: &Path, work: &Path) -> Result<usize> {
    let mut listings = Vec::new();
    for home in ["first", "second"] {
        let msb = Msb {
            program: program.to_owned(),
            home: work.join(home),
        };
        msb.load(layout, NAME)?;
        listings.push(list(&msb.home)?);
        fs::remove_dir_all(&msb.home)?;
    }
    ensure!(
        listings[0] == listings[1],
        "{}",
        difference(&listings[0], &listings[1])
    );
    Ok(listings[0].len())
}

/// Kills `msb load` at `kills` random moments; after each, a plain load makes the store exactly
/// what an undisturbed one is. Gives how many kills came before the load had ended.
pub(crate) fn kill_loads(program: &Path, layout: &Path, work: &Path, kills: u32) -> Result<u32> {
    let msb = Msb {
        program: program.to_owned(),
        home: work.join("killed"),
    };
    let begun = Instant::now();
    msb.load(layout, NAME)?;
    // Other work on the machine makes loads slower and faster: the moments follow what they take.
    let mut duration = begun.elapsed();
    let undisturbed = list(&msb.home)?;
    let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos();
    let mut random = u64::from(seed) | 1;
    eprintln!("kill loop: a load takes {duration:?}, seed {seed}");
    let mut in_time = 0;
    for kill in 0..kills {
        fs::remove_dir_all(&msb.home)?;
        let delay = duration.mul_f64(fraction(&mut random) * 1.1);
        if kill_one(&msb, layout, delay)? {
            in_time += 1;
            duration = duration.mul_f64(1.02);
        } else {
            duration = delay.min(duration);
        }
        msb.load(layout, NAME)
            .with_context(|| format!("after kill {kill} at {delay:?}"))?;
        let listing = list(&msb.home)?;
        ensure!(
            listing == undisturbed,
            "after kill {kill} at {delay:?}: {}",
            difference(&undisturbed, &listing)
        );
    }
    fs::remove_dir_all(&msb.home)?;
    Ok(in_time)
}

/// Whether the kill came in time.
fn kill_one(msb: &Msb, layout: &Path, delay: Duration) -> Result<bool> {
    let mut child = msb
        .command(&["load", "-q", "-t", NAME])
        .arg(layout)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    std::thread::sleep(delay);
    let in_time = child.try_wait()?.is_none();
    child.kill()?;
    child.wait()?;
    Ok(in_time)
}

/// xorshift64*, as a number from 0 to 1.
fn fraction(state: &mut u64) -> f64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    let bits = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40;
    f64::from(u32::try_from(bits).unwrap_or(0)) / f64::from(1_u32 << 24)
}

/// Every file below `home`.
pub(crate) fn list(home: &Path) -> Result<Listing> {
    let mut listing = Listing::new();
    let mut directories = vec![home.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let hash = Sha256::digest(fs::read(&path)?);
                let relative = path.strip_prefix(home)?.to_owned();
                let digest: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
                listing.insert(relative, digest);
            }
        }
    }
    Ok(listing)
}

/// What two listings have not in common.
pub(crate) fn difference(expected: &Listing, found: &Listing) -> String {
    let only = |a: &Listing, b: &Listing| {
        let files: Vec<_> = a
            .iter()
            .filter(|(path, digest)| b.get(*path) != Some(digest))
            .collect();
        format!("{files:?}")
    };
    format!(
        "the stores differ: expected {}, found {}",
        only(expected, found),
        only(found, expected)
    )
}
