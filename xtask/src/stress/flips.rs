use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::content::Content;
use super::random::Random;
use super::registry::CountingRegistry;
use super::{Ground, pull, told, verify};
use crate::oracle::{self, Listing, Msb, succeed};

/// Flips one bit of one byte at a time, over all files of a store and its kernel: it is found, the
/// image is refused, and a repair gives back the very same bytes.
pub(crate) fn flip_bytes(ground: &Ground<'_>, count: u32) -> Result<String> {
    let registry = CountingRegistry::serve(Content::overlapping()?)?;
    let msb = ground.msb("flipped")?;
    let names = [registry.name("overlap-0"), registry.name("overlap-1")];
    for name in &names {
        succeed(&mut pull(&msb, name))?;
    }
    wrap_kernel(&msb, ground.kernel)?;
    let whole = list(&msb)?;
    let mut random = Random::new();
    eprintln!("flipped bytes: seed {}, {} files", random.seed, whole.len());
    let (mut found, mut refused, mut mended) = (0, 0, 0);
    for round in 0..count {
        let (path, at) = flip(&msb, &whole, round, &mut random)?;
        let told = || format!("flip {round}: byte {at} of {}", path.display());
        let damages = verify(&msb).with_context(told)?;
        let is_it = |row: &serde_json::Value| row["path"].as_str() == path.to_str();
        found += u32::from(damages.iter().any(is_it));
        if path.starts_with(msb.home.join("store")) {
            refused += u32::from(is_refused(&msb, &names)?);
        } else {
            // A kernel that is not whole is made anew before it is used.
            wrap_kernel(&msb, ground.kernel)?;
            refused += u32::from(list(&msb)? == whole);
        }
        succeed(&mut msb.command(&["image", "verify", "--repair", "-q"])).with_context(told)?;
        wrap_kernel(&msb, ground.kernel)?;
        let now = list(&msb)?;
        ensure!(
            now == whole,
            "{}: {}",
            told(),
            oracle::difference(&whole, &now)
        );
        mended += 1;
    }
    let figures = format!(
        "{count} flips over {} files: {found} found, {refused} refused, {mended} mended byte for byte",
        whole.len()
    );
    ensure!(found == count && refused == count, "{figures}");
    Ok(figures)
}

/// Every file in turn, and any byte of it.
fn flip(msb: &Msb, whole: &Listing, round: u32, random: &mut Random) -> Result<(PathBuf, usize)> {
    let paths: Vec<&PathBuf> = whole.keys().collect();
    let path = msb.home.join(paths[usize::try_from(round)? % paths.len()]);
    let mut bytes = fs::read(&path)?;
    let at = random.below(bytes.len());
    bytes[at] ^= 1 << random.below(8);
    fs::write(&path, bytes)?;
    Ok((path, at))
}

/// Whether one of the images is not started: each file is one's or both's.
fn is_refused(msb: &Msb, names: &[String]) -> Result<bool> {
    for name in names {
        // Where the image is whole, the VMM is what is lacking.
        let arguments = [
            "run", "--rm", "-q", "--pull", "never", "--vmm", "krun", name,
        ];
        let output = msb.command(&arguments).arg("true").output()?;
        let text = told(&output);
        ensure!(output.status.code() == Some(125), "{text}");
        if text.contains("corrupt") || text.contains("damaged") {
            return Ok(true);
        }
    }
    Ok(false)
}

fn wrap_kernel(msb: &Msb, kernel: &Path) -> Result<()> {
    let mut doctor = msb.command(&["doctor"]);
    // Whether sandboxes can run here does not matter.
    drop(doctor.env("MSB_KERNEL", kernel).output()?);
    Ok(())
}

/// How the stamps of kernels and boot disks end: put when there was time for it, and never needed.
const STAMP: &str = ".stamp.json";

/// Every file that has bytes and is needed. Those that have none say what they say by their times.
fn list(msb: &Msb) -> Result<Listing> {
    let mut listing = oracle::list(&msb.home)?;
    listing.retain(|path, _| {
        let is_stamp = path.to_string_lossy().ends_with(STAMP);
        !is_stamp && fs::metadata(msb.home.join(path)).is_ok_and(|file| file.len() > 0)
    });
    Ok(listing)
}
