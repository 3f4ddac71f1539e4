//! The store under many processes, kills, flipped bytes, full disks and failing ones. Each recipe takes how often
//! it does what it does; `cargo xtask test` runs them briefly.

mod content;
mod determinism;
mod faults;
mod flips;
mod full_disk;
mod kills;
mod pulls;
mod random;
mod registry;
mod stage;
mod system_calls;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};

pub(crate) use determinism::same_bytes_every_time;
pub(crate) use faults::fail_calls;
pub(crate) use flips::flip_bytes;
pub(crate) use full_disk::fill_disks;
pub(crate) use kills::kill_pulls;
pub(crate) use pulls::{pull_at_once, pull_overlapping};

use crate::oracle::Msb;
use crate::{build, image, kernel, place};

/// How often `cargo xtask stress` does what it does.
#[derive(Debug, clap::Args)]
pub(crate) struct StressArguments {
    /// An msb, instead of the one that is built for it
    #[arg(long)]
    msb: Option<PathBuf>,
    /// Rounds of twenty pulls with kills, removals, prunings and verifications
    #[arg(long, default_value_t = 10)]
    rounds: u32,
    /// Rounds of 64 pulls of one image
    #[arg(long, default_value_t = 3)]
    crowds: u32,
    /// Pulls that are killed, two to eight at once
    #[arg(long, default_value_t = 1000)]
    kills: u32,
}

/// How often another recipe does what it does.
#[derive(Debug, clap::Args)]
pub(crate) struct Count {
    /// An msb, instead of the one that is built for it
    #[arg(long)]
    msb: Option<PathBuf>,
    /// How often
    #[arg(long)]
    count: Option<u32>,
}

/// What every recipe works with.
pub(crate) struct Ground<'a> {
    pub(crate) program: &'a Path,
    pub(crate) kernel: &'a Path,
    /// A small image's OCI layout.
    pub(crate) small: &'a Path,
    /// A directory to work in.
    pub(crate) work: &'a Path,
}

/// [`Ground`], made for a recipe of its own.
struct OwnGround {
    program: PathBuf,
    kernel: PathBuf,
    small: PathBuf,
    work: PathBuf,
}

impl OwnGround {
    fn prepare(name: &str, msb: Option<&Path>) -> Result<Self> {
        Ok(Self {
            program: match msb {
                Some(msb) => msb.to_owned(),
                None => build::msb()?,
            },
            kernel: kernel::fetch()?,
            small: image::small()?,
            work: place::scratch(name)?,
        })
    }

    fn ground(&self) -> Ground<'_> {
        Ground {
            program: &self.program,
            kernel: &self.kernel,
            small: &self.small,
            work: &self.work,
        }
    }
}

/// Many processes on one store.
pub(crate) fn stress(arguments: &StressArguments) -> Result<()> {
    let own = OwnGround::prepare("stress", arguments.msb.as_deref())?;
    let ground = own.ground();
    println!("{}", pull_overlapping(&ground, arguments.rounds)?);
    println!("{}", pull_at_once(&ground, arguments.crowds)?);
    println!("{}", kill_pulls(&ground, arguments.kills)?);
    Ok(())
}

/// Flipped bytes.
pub(crate) fn flips(count: &Count) -> Result<()> {
    let own = OwnGround::prepare("flips", count.msb.as_deref())?;
    println!(
        "{}",
        flip_bytes(&own.ground(), count.count.unwrap_or(1000))?
    );
    Ok(())
}

/// Full disks.
pub(crate) fn full_disks(count: &Count) -> Result<()> {
    let own = OwnGround::prepare("full-disks", count.msb.as_deref())?;
    println!("{}", fill_disks(&own.ground(), count.count.unwrap_or(60))?);
    Ok(())
}

/// Disks that answer with errors.
pub(crate) fn faults(count: &Count) -> Result<()> {
    let own = OwnGround::prepare("faults", count.msb.as_deref())?;
    println!("{}", fail_calls(&own.ground(), count.count.unwrap_or(60))?);
    Ok(())
}

/// The same layers, the same bytes.
pub(crate) fn determinism(count: &Count) -> Result<()> {
    let own = OwnGround::prepare("determinism", count.msb.as_deref())?;
    println!(
        "{}",
        same_bytes_every_time(&own.ground(), count.count.unwrap_or(100))?
    );
    Ok(())
}

impl Ground<'_> {
    /// An msb with a new home of this name.
    fn msb(&self, home: &str) -> Result<Msb> {
        let home = self.work.join(home);
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        Ok(Msb {
            program: self.program.to_owned(),
            home,
        })
    }
}

/// `msb pull` of a name of a registry on the loopback interface.
fn pull(msb: &Msb, name: &str) -> Command {
    msb.command(&["pull", "-q", "--plain-http", name])
}

/// The damage that `msb image verify` finds, as its JSON has it.
fn verify(msb: &Msb) -> Result<Vec<serde_json::Value>> {
    let output = msb
        .command(&["image", "verify", "--format", "json", "-q"])
        .output()?;
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).with_context(|| told(&output))?;
    let damages = report["damages"].as_array().context("no damages")?.clone();
    let code = if damages.is_empty() { 0 } else { 1 };
    ensure!(output.status.code() == Some(code), "{}", told(&output));
    Ok(damages)
}

/// Checks that the store has no damage, and nothing unfinished once it has been opened.
fn expect_whole(msb: &Msb) -> Result<()> {
    let damages = verify(msb)?;
    ensure!(damages.is_empty(), "damaged: {damages:?}");
    let left = unfinished(msb)?;
    ensure!(left.is_empty(), "left over: {left:?}");
    Ok(())
}

/// Directories of unfinished files.
fn unfinished(msb: &Msb) -> Result<Vec<PathBuf>> {
    let directory = msb.home.join("store/v2/tmp");
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(directory)?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// How a command ended and what it said.
fn told(output: &Output) -> String {
    format!(
        "{}: {}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
