use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::content::Content;
use super::random::Random;
use super::registry::CountingRegistry;
use super::{pull, told, verify};
use test_support::listing::{self, Listing};
use test_support::{Msb, TestEnv, succeed};

/// Flips one bit at a time, over all files of a store and its kernel. Each flip is found, the image
/// is refused, and a repair restores the same bytes.
pub(crate) fn flip_bytes(env: &TestEnv, count: u32) -> Result<String> {
    let registry = CountingRegistry::serve(&Content::overlapping())?;
    let msb = env.msb_at("flipped")?;
    let names = [registry.name("overlap-0"), registry.name("overlap-1")];
    for name in &names {
        succeed(&mut pull(&msb, name))?;
    }
    wrap_kernel(&msb)?;
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
        let is_stored = path.starts_with(msb.home.join("store"));
        if !is_read_at_starts(&path, is_stored) {
            refused += 1;
        } else if is_stored {
            refused += u32::from(is_refused(&msb, &names)?);
        } else {
            // A kernel that is not intact is made again before it is used.
            wrap_kernel(&msb)?;
            refused += u32::from(list(&msb)? == whole);
        }
        succeed(&mut msb.command(&["image", "verify", "--repair", "-q"])).with_context(told)?;
        wrap_kernel(&msb)?;
        let now = list(&msb)?;
        ensure!(
            now == whole,
            "{}: {}",
            told(),
            listing::difference(&whole, &now)
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

/// Flips one bit at a time of packed layers. Each flip is found by the name of the file, and a repair and another packing
/// restore the same bytes.
pub(crate) fn flip_packed(env: &TestEnv, count: u32) -> Result<String> {
    let registry = CountingRegistry::serve(&Content::overlapping())?;
    let msb = env.msb_at("flipped-packed")?;
    succeed(&mut pull(&msb, &registry.name("overlap-0")))?;
    let pack = || succeed(&mut msb.command(&["image", "pack", "-q", "--all"]));
    pack()?;
    let whole = list(&msb)?;
    let mut packed = whole.clone();
    packed.retain(|path, _| path.extension() == Some(OsStr::new("packed")));
    ensure!(!packed.is_empty(), "no layer is packed");
    let mut random = Random::new();
    eprintln!("flipped bytes of packed layers: seed {}", random.seed);
    for round in 0..count {
        let (path, at) = flip(&msb, &packed, round, &mut random)?;
        let told = || format!("flip {round}: byte {at} of {}", path.display());
        let damages = verify(&msb).with_context(told)?;
        let is_it = |row: &serde_json::Value| row["path"].as_str() == path.to_str();
        ensure!(damages.iter().any(is_it), "{}: {damages:?}", told());
        succeed(&mut msb.command(&["image", "verify", "--repair", "-q"])).with_context(told)?;
        pack().with_context(told)?;
        let now = list(&msb)?;
        ensure!(
            now == whole,
            "{}: {}",
            told(),
            listing::difference(&whole, &now)
        );
    }
    Ok(format!(
        "{count} flips over {} packed layers: found, and mended byte for byte",
        packed.len()
    ))
}

/// Flips a random bit of a random byte; the files are taken in turn.
fn flip(msb: &Msb, whole: &Listing, round: u32, random: &mut Random) -> Result<(PathBuf, usize)> {
    let paths: Vec<&PathBuf> = whole.keys().collect();
    let path = msb.home.join(paths[usize::try_from(round)? % paths.len()]);
    let mut bytes = fs::read(&path)?;
    let at = random.below(bytes.len());
    bytes[at] ^= 1 << random.below(8);
    fs::write(&path, bytes)?;
    Ok((path, at))
}

/// Returns true for files of which a start reads every byte. Layers and metadata are verified when they are read, and
/// a sandbox starts without the others.
fn is_read_at_starts(path: &Path, is_stored: bool) -> bool {
    match path.extension().and_then(OsStr::to_str) {
        Some("erofs") => !is_stored,
        Some("manifest" | "config" | "outline") => false,
        _ => true,
    }
}

/// Returns true if one of the images is refused as damaged. Each file belongs to one image or both.
fn is_refused(msb: &Msb, names: &[String]) -> Result<bool> {
    for name in names {
        // If the image is intact, the command fails because this host has no krun.
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

fn wrap_kernel(msb: &Msb) -> Result<()> {
    // The result of `msb doctor` does not matter; it makes the kernel.
    drop(msb.command(&["doctor"]).output()?);
    Ok(())
}

/// The suffix of stamps of kernels and boot disks, which are written only if there is time.
const STAMP: &str = ".stamp.json";

/// Lists the files that have content and are needed. Empty files keep their data in their times.
fn list(msb: &Msb) -> Result<Listing> {
    let mut listing = listing::list(&msb.home)?;
    listing.retain(|path, _| {
        let is_stamp = path.to_string_lossy().ends_with(STAMP);
        !is_stamp && fs::metadata(msb.home.join(path)).is_ok_and(|file| file.len() > 0)
    });
    Ok(listing)
}
