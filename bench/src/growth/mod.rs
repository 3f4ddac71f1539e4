//! The growth of msb's cost with layers, files and whiteouts. Each point is an image made for it,
//! which msb and the bound load in turn. For some points sandboxes are also created and started.

mod crowd;
pub(crate) mod image;
mod load;
mod sandbox;

use std::path::PathBuf;

use anyhow::Result;

use image::Shape;

use crate::msb::{Msb, vmm_words};
use crate::report::{Cache, Conditions, Durability, Machine, Report, Showing};

/// The number of files that are spread over the layers of the first series.
const SPREAD_FILES: u32 = 12_700;
const LAYERS: [u32; 5] = [1, 8, 32, 64, 127];
const FILES: [u32; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
/// The number of files below the whiteouts of the last series, which has at most as many whiteouts.
const BASE_FILES: u32 = 60_000;
const WHITEOUTS: [u32; 4] = [0, 1_000, 5_000, 20_000];

/// Arguments of `msb bench growth`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb bench growth\n  \
    msb bench growth --most-files 1000 --no-sandboxes")]
pub(crate) struct Arguments {
    /// Number of counted rounds of each point
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Only points with at most this number of files
    #[arg(long, value_name = "FILES", default_value_t = 100_000)]
    most_files: u32,
    /// Do not start sandboxes
    #[arg(long)]
    no_sandboxes: bool,
    /// Largest number of sandboxes at once
    #[arg(long, value_name = "SANDBOXES", default_value_t = 100)]
    most_sandboxes: u32,
    /// The VMM to start sandboxes with: krun, qemu, or auto for one that this host can run
    #[arg(long, default_value = "auto", env = "MSB_VMM")]
    vmm: String,
    /// The directory in which images are made and loaded
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    work: PathBuf,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let within = |shape: &Shape| shape.files <= arguments.most_files;
    let series = |shapes: Vec<Shape>| shapes.into_iter().filter(within).collect::<Vec<_>>();
    let layers = series(
        LAYERS
            .map(|layers| Shape::spread(layers, SPREAD_FILES))
            .into(),
    );
    let files = series(FILES.map(|files| Shape::spread(1, files)).into());
    let whiteouts = series(
        WHITEOUTS
            .map(|count| Shape::covered(BASE_FILES, count))
            .into(),
    );
    let fixture = load::Fixture { arguments, msb };
    let mut tables = Vec::new();
    tables.extend(fixture.series("layers", |shape| shape.layers, &layers)?);
    let of_files = fixture.series("files", |shape| shape.files, &files)?;
    let of_whiteouts = fixture.series(
        "whiteouts",
        |shape| shape.whiteouts.unwrap_or(0),
        &whiteouts,
    )?;
    let mut targets = load::memory_targets(&of_files);
    targets.extend(load::whiteout_targets(&of_whiteouts));
    tables.extend(of_files);
    tables.extend(of_whiteouts);
    let mut vmm = None;
    if !arguments.no_sandboxes {
        let (table, judged) = sandbox::measure(&fixture, &layers)?;
        tables.extend(table);
        targets.extend(judged);
        let (table, judged) = crowd::measure(&fixture)?;
        tables.extend(table);
        targets.extend(judged);
        vmm = Some(vmm_words(&arguments.vmm).to_owned());
    }
    Ok(Report::new("growth", Machine::this(vmm), tables, targets))
}

/// Returns the conditions of a series.
fn conditions(arguments: &Arguments, durability: Durability, note: &str) -> Conditions {
    Conditions {
        cache: Cache::Warm,
        durability,
        place: format!("written to {}", arguments.work.display()),
        notes: vec![
            format!("{} rounds after one warm-up, in turn", arguments.rounds),
            note.to_owned(),
        ],
    }
}
