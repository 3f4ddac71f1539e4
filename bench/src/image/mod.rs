//! The cost of loading an image: `msb load`, `msb pull` from a registry on loopback, and tools that
//! do a part of the same work.
//!
//! All are compared with the bound: the same blobs read, hashed, decompressed, hashed again and
//! written, two at a time, without parsing.

mod contestant;
mod page_cache;
pub(crate) mod registry;
mod tables;

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use contestant::Contestant;
use tables::Outcome;

use crate::allocation::allocated_bytes;
use crate::layout::Blob;
use crate::measure::{self, Cost};
use crate::msb::Msb;
use crate::report::{Machine, Report, Showing};
use crate::{bound, layout};

/// Arguments of `msb bench image`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Tools that are not installed, or fail on the image, are left out, and the report says so.\n\n\
    The image can come from any registry: skopeo copy makes a layout of it.\n\n\
    Examples:\n  \
    skopeo copy docker://python:3.12-slim oci:python:latest\n  \
    msb bench image python --html image.html"
)]
pub(crate) struct Arguments {
    /// An OCI layout directory with one image
    layout: PathBuf,
    /// Number of counted rounds; in each, every contestant runs once
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The directory that all contestants write to
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    work: PathBuf,
    /// Drop the image's blobs from the page cache before each run
    #[arg(long)]
    cold: bool,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// Arguments of `msb bench bound`.
#[derive(Debug, clap::Args)]
pub(crate) struct BoundArguments {
    layout: PathBuf,
    directory: PathBuf,
}

/// Runs the bound.
pub(crate) fn bound(arguments: &BoundArguments) -> Result<()> {
    bound::run(
        &layout::layer_blobs(&arguments.layout)?,
        &arguments.directory,
    )
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let blobs = layout::layer_blobs(&arguments.layout)?;
    let registry = registry::Registry::start(&arguments.layout)?;
    let (installed, mut notes) = contestant::all(&arguments.layout, &registry)?;
    let (mut contestants, mut outcomes) = (Vec::new(), Vec::new());
    // The first round is not counted. It shows if a tool cannot handle this image at all.
    for contestant in installed {
        match once(arguments, msb, &blobs, &contestant) {
            Ok(_) => {
                outcomes.push(Outcome::new(&contestant));
                contestants.push(contestant);
            }
            Err(_) if !contestant.is_ours() => {
                notes.push(format!("{} failed on this image", contestant.name))
            }
            Err(error) => return Err(error),
        }
    }
    // All run in turn, so that changes of the machine's speed affect all equally.
    for _ in 0..arguments.rounds {
        for (contestant, outcome) in contestants.iter().zip(&mut outcomes) {
            let (cost, left_bytes) = once(arguments, msb, &blobs, contestant)?;
            outcome.add(&cost, left_bytes);
        }
    }
    let tables = tables::build(arguments, &blobs, &outcomes, &notes);
    let name = if arguments.cold {
        "image --cold"
    } else {
        "image"
    };
    Ok(Report::new(
        name,
        Machine::this(None),
        tables,
        tables::targets(&outcomes),
    ))
}

/// Runs a contestant once, in its own directory. Returns its cost, and the bytes that it left on
/// the disk.
fn once(
    arguments: &Arguments,
    msb: &Msb,
    blobs: &[Blob],
    contestant: &Contestant,
) -> Result<(Cost, u64)> {
    if arguments.cold {
        page_cache::drop_cached(blobs)?;
    }
    let directory = tempfile::tempdir_in(&arguments.work)?;
    let command = contestant.command(msb, directory.path())?;
    let cost = measure::cost(&command, directory.path())
        .with_context(|| format!("{} failed", contestant.name))?;
    Ok((cost, allocated_bytes(directory.path())?))
}
