//! The time of `msb pull` over a simulated network: large layers in ranges, beside one stream each.
//!
//! The same msb pulls from two registries. One of them ignores requests for ranges, so msb downloads
//! each layer from it in one stream.

mod network;
mod registry;

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::layout;
use crate::measure::{self, Cost};
use crate::msb::Msb;
use crate::report::{
    Cache, Cell, Conditions, Durability, Machine, Plot, Report, Row, Showing, Table, Target, Unit,
};
use network::{NETWORKS, Network};
use registry::{Ranges, SlowRegistry};

/// Arguments of `msb bench pull`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The network is simulated by the registry: it delays each request by a round trip and each connection by two more, shares a bandwidth among its connections, lets each of them begin slowly, and caps it. It loses nothing.\n\n\
    Examples:\n  \
    skopeo copy docker://python:3.12-slim oci:python:latest\n  \
    msb bench pull python --rounds 3"
)]
pub(crate) struct Arguments {
    /// An OCI layout directory with one image
    layout: PathBuf,
    /// Number of counted rounds; in each, the image is pulled once in each way over each network
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The directory of msb's images
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    work: PathBuf,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// The costs of the pulls over one network: those in one stream first.
struct Measured {
    network: &'static Network,
    costs: [Vec<Cost>; 2],
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let mut measured = Vec::new();
    let mut registries = Vec::new();
    for network in &NETWORKS {
        let start = |ranges| SlowRegistry::start(&arguments.layout, network, ranges);
        registries.push([start(Ranges::Ignored)?, start(Ranges::Served)?]);
        let costs = [Vec::new(), Vec::new()];
        measured.push(Measured { network, costs });
    }
    for round in 0..=arguments.rounds {
        for (registries, measured) in registries.iter().zip(&mut measured) {
            for (registry, costs) in registries.iter().zip(&mut measured.costs) {
                let cost = pull(arguments, msb, registry)?;
                // The first round warms the caches.
                if round > 0 {
                    costs.push(cost);
                }
            }
        }
    }
    let targets = measured.iter().map(Measured::judge);
    let targets = targets.collect::<Result<Vec<Target>>>()?;
    let tables = tables(arguments, &measured)?;
    Ok(Report::new("pull", Machine::this(None), tables, targets))
}

/// Pulls the image into an empty store.
fn pull(arguments: &Arguments, msb: &Msb, registry: &SlowRegistry) -> Result<Cost> {
    let home = tempfile::tempdir_in(&arguments.work)?;
    let mut command = msb.in_home(home.path()).command();
    command.args(["pull", "--quiet", "--plain-http", &registry.reference()]);
    measure::cost(&command, home.path()).context("msb pull failed")
}

impl Measured {
    fn row(&self, figure: fn(&Cost) -> f64) -> Row {
        let cell = |costs: &Vec<Cost>| Some(Cell::from_rounds(costs.iter().map(figure).collect()));
        Row::new(self.network.name, self.costs.iter().map(cell).collect())
    }

    fn judge(&self) -> Result<Target> {
        let wall = self.row(|cost| cost.wall_s);
        let cells = wall.cell(1).zip(wall.cell(0));
        let ratio = cells.and_then(|(ranges, stream)| ranges.ratio_to(stream));
        let ratio = ratio.context("no rounds")?.median;
        let (name, most) = (self.network.name, self.network.ratio_max);
        let words = format!(
            "{name}: a pull in ranges takes {ratio:.2} of the time in one stream for each layer (at most {most})"
        );
        Ok(Target::new(ratio <= most, words))
    }
}

fn tables(arguments: &Arguments, measured: &[Measured]) -> Result<Vec<Table>> {
    let blobs = layout::layer_blobs(&arguments.layout)?;
    ensure!(!blobs.is_empty(), "the image has no layers");
    let compressed_bytes: u64 = blobs.iter().map(|blob| blob.size_bytes).sum();
    let table = |title: &str, unit, figure: fn(&Cost) -> f64| Table {
        title: title.to_owned(),
        conditions: Conditions {
            cache: Cache::Warm,
            durability: Durability::Synced,
            place: format!("written to {}", arguments.work.display()),
            notes: vec![
                format!(
                    "{} layers, {} compressed; {} rounds after one warm-up, in turn, each into an \
                     empty store",
                    blobs.len(),
                    Unit::Bytes.shown(compressed_bytes as f64),
                    arguments.rounds
                ),
                "the network is simulated: a round trip before each answer, two more on each \
                 connection, a shared bandwidth, a window of 10 packets that doubles each round \
                 trip, at most 40 MB/s on a connection, no loss"
                    .to_owned(),
            ],
        },
        unit,
        columns: ["one stream", "ranges"].map(str::to_owned).to_vec(),
        baseline: Some(0),
        rows: measured
            .iter()
            .map(|measured| measured.row(figure))
            .collect(),
        plot: Plot::Ratios,
    };
    Ok(vec![
        table("Pulling over a network: time", Unit::Seconds, |cost| {
            cost.wall_s
        }),
        table("Pulling over a network: memory", Unit::Bytes, |cost| {
            cost.peak_memory_bytes as f64
        }),
    ])
}
