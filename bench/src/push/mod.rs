//! The cost of `msb push` to a registry on this host, beside `skopeo copy` of the same blobs, and
//! what a push of a child sends.

mod registry;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::image::registry::Registry;
use crate::layout;
use crate::measure::{self, Cost};
use crate::msb::Msb;
use crate::report::{
    Cache, Cell, Conditions, Durability, Machine, Plot, Report, Row, Showing, Table, Target, Unit,
};
use registry::EmptyRegistry;

/// The largest ratio of the time of a push to that of skopeo for the same blobs.
const TIME_MAX: f64 = 1.15;
const PUSHED: &str = "bench/pushed:latest";
const CHILD: &str = "bench/child:latest";

/// Arguments of `msb bench push`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Needs skopeo and docker-registry.\n\nExamples:\n  \
    msb bench push ./layout\n  \
    msb bench push ./layout --rounds 3")]
pub(crate) struct Arguments {
    /// The OCI layout of an image
    layout: PathBuf,
    /// Number of counted rounds; in each, every contestant pushes to an empty registry
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// The directory of the registries and of msb's images
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    work: PathBuf,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// One way to push the image. The first is the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// From the registry that the image is in.
    Skopeo,
    /// The image was pulled from there, and its blobs are streamed from there.
    MsbStreamed,
    /// From the layout.
    SkopeoLayout,
    /// The image was loaded, and its layers are compressed again.
    MsbRebuilt,
}

impl Way {
    const ALL: [Self; 4] = [
        Self::Skopeo,
        Self::MsbStreamed,
        Self::SkopeoLayout,
        Self::MsbRebuilt,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Skopeo => "skopeo copy docker://",
            Self::MsbStreamed => "msb push, pulled",
            Self::SkopeoLayout => "skopeo copy oci:",
            Self::MsbRebuilt => "msb push, loaded",
        }
    }
}

/// The sources of a push.
struct Sources {
    origin: Registry,
    layout: PathBuf,
    tag: String,
    /// An msb whose image was pulled from the origin, and one whose image was loaded.
    pulled: Msb,
    loaded: Msb,
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let work = tempfile::tempdir_in(&arguments.work)?;
    let sources = Sources::make(arguments, msb, work.path())?;
    let mut costs = Way::ALL.map(|_| Vec::new());
    for round in 0..=arguments.rounds {
        for (way, costs) in Way::ALL.into_iter().zip(&mut costs) {
            let registry = EmptyRegistry::start(work.path())?;
            let command = sources.command(way, &registry.reference(PUSHED));
            let cost = measure::cost(&command, registry.directory());
            let cost = cost.with_context(|| format!("{} failed", way.name()))?;
            // The first round warms the caches.
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    let (tables, mut targets) = tables(arguments, &costs)?;
    targets.push(sources.push_child(work.path())?);
    Ok(Report::new("push", Machine::this(None), tables, targets))
}

impl Sources {
    fn make(arguments: &Arguments, msb: &Msb, work: &Path) -> Result<Self> {
        let layout = std::path::absolute(&arguments.layout)?;
        let origin = Registry::start(&layout)?;
        let (pulled, loaded) = (
            msb.in_home(&work.join("pulled")),
            msb.in_home(&work.join("loaded")),
        );
        pulled.output(["pull", "--quiet", "--plain-http", &origin.reference()])?;
        let path = layout.to_string_lossy();
        loaded.output(["load", "--quiet", "--tag", PUSHED, &path])?;
        Ok(Self {
            tag: layout::tag(&layout)?,
            origin,
            layout,
            pulled,
            loaded,
        })
    }

    /// Returns the command that pushes the image to `target`.
    fn command(&self, way: Way, target: &str) -> Command {
        let skopeo = |source: String| {
            let mut command = Command::new("skopeo");
            command.args(["copy", "--quiet", "--insecure-policy"]);
            command.args(["--src-tls-verify=false", "--dest-tls-verify=false"]);
            command.args([source, format!("docker://{target}")]);
            command
        };
        let msb = |msb: &Msb, image: &str| {
            let mut command = msb.command();
            command.args(["push", "--quiet", "--plain-http", image, target]);
            command
        };
        match way {
            Way::Skopeo => skopeo(format!("docker://{}", self.origin.reference())),
            Way::SkopeoLayout => skopeo(format!("oci:{}:{}", self.layout.display(), self.tag)),
            Way::MsbStreamed => msb(&self.pulled, &self.origin.reference()),
            Way::MsbRebuilt => msb(&self.loaded, PUSHED),
        }
    }

    /// Pushes the image and then a child of it, and judges what the second push sends.
    fn push_child(&self, work: &Path) -> Result<Target> {
        let (msb, image) = (&self.pulled, self.origin.reference());
        let file = work.join("file");
        fs::write(&file, "a file of the child\n".repeat(10_000))?;
        let copied = format!("{}:/child", file.display());
        msb.output([
            "create",
            "--no-command",
            "--name",
            "child",
            "--copy",
            &copied,
            &image,
        ])?;
        msb.output(["commit", "child", CHILD])?;
        let registry = EmptyRegistry::start(work)?;
        let push = |image: &str, target: &str| -> Result<Value> {
            let words = ["push", "--quiet", "--plain-http", "--format", "json", image];
            let words = words.into_iter().chain([target]);
            Ok(serde_json::from_str(&msb.output(words)?)?)
        };
        push(&image, &registry.reference(PUSHED))?;
        let child = push(CHILD, &registry.reference("bench/pushed:child"))?;
        let layers = child["layers"].as_array().context("no layers")?;
        let layer = layers.last().and_then(|layer| layer["size_bytes"].as_u64());
        let (layer, sent) = (layer.context("no size")?, child["uploaded_bytes"].as_u64());
        let sent = sent.context("no uploaded bytes")?;
        let words = format!("a push of a child sends {sent} bytes of layers (its own: {layer})");
        Ok(Target::new(sent == layer, words))
    }
}

fn tables(arguments: &Arguments, costs: &[Vec<Cost>]) -> Result<(Vec<Table>, Vec<Target>)> {
    let row = |name: &str, figure: fn(&Cost) -> f64| {
        let cell = |costs: &Vec<Cost>| Some(Cell::from_rounds(costs.iter().map(figure).collect()));
        Row::new(name, costs.iter().map(cell).collect())
    };
    let blobs = layout::layer_blobs(&arguments.layout)?;
    ensure!(!blobs.is_empty(), "the image has no layers");
    let compressed_bytes: u64 = blobs.iter().map(|blob| blob.size_bytes).sum();
    let table = |title: &str, unit, rows| Table {
        title: title.to_owned(),
        conditions: Conditions {
            cache: Cache::Warm,
            durability: Durability::Synced,
            place: format!("written to {}", arguments.work.display()),
            notes: vec![
                format!(
                    "{} layers, {} compressed; {} rounds after one warm-up, in turn, each to an \
                     empty docker-registry on loopback",
                    blobs.len(),
                    Unit::Bytes.shown(compressed_bytes as f64),
                    arguments.rounds
                ),
                "the first two read the same registry on loopback, the third the layout; the last \
                 compresses the layers again, so it has no target"
                    .to_owned(),
                "the clock stops when the registry's files are on the disk".to_owned(),
            ],
        },
        unit,
        columns: Way::ALL.map(|way| way.name().to_owned()).to_vec(),
        baseline: Some(0),
        rows,
        plot: Plot::Ratios,
    };
    let wall = row("wall", |cost| cost.wall_s);
    let judged = wall.cell(1).zip(wall.cell(0));
    let ratio = judged.and_then(|(ours, theirs)| ours.ratio_to(theirs));
    let target = ratio.map(|ratio| {
        let words = format!(
            "msb push: {:.2} of the time of skopeo copy (at most {TIME_MAX})",
            ratio.median
        );
        Target::new(ratio.median <= TIME_MAX, words)
    });
    let times = vec![wall, row("processors", |cost| cost.cpu_s)];
    let memory = vec![row("most memory of a process", |cost| {
        cost.peak_memory_bytes as f64
    })];
    let tables = vec![
        table("Pushing an image: time", Unit::Seconds, times),
        table("Pushing an image: bytes", Unit::Bytes, memory),
    ];
    Ok((tables, target.into_iter().collect()))
}
