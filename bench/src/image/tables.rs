use super::Arguments;
use super::contestant::{Contestant, SKOPEO_PULL};
use crate::layout::Blob;
use crate::measure::Cost;
use crate::report::{Cache, Cell, Conditions, Durability, Plot, Row, Table, Target, Unit};

/// The largest ratio of the time of a load or a pull to that of the bound.
const LOAD_MAX: f64 = 1.25;

/// The costs of a contestant in each counted round.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    name: &'static str,
    wall_s: Vec<f64>,
    cpu_s: Vec<f64>,
    peak_bytes: Vec<f64>,
    written_bytes: Vec<f64>,
    left_bytes: Vec<f64>,
}

impl Outcome {
    pub(super) fn new(contestant: &Contestant) -> Self {
        Self {
            name: contestant.name,
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, cost: &Cost, left_bytes: u64) {
        self.wall_s.push(cost.wall_s);
        self.cpu_s.push(cost.cpu_s);
        self.peak_bytes.push(cost.peak_memory_bytes as f64);
        self.written_bytes.push(cost.written_bytes as f64);
        self.left_bytes.push(left_bytes as f64);
    }

    fn wall(&self) -> Cell {
        Cell::from_rounds(self.wall_s.clone())
    }
}

pub(super) fn build(
    arguments: &Arguments,
    blobs: &[Blob],
    outcomes: &[Outcome],
    others: &[String],
) -> Vec<Table> {
    let compressed_bytes: u64 = blobs.iter().map(|blob| blob.size_bytes).sum();
    let mut notes = vec![
        format!(
            "{} layers, {} compressed; {} rounds after one warm-up, all in turn",
            blobs.len(),
            Unit::Bytes.shown(compressed_bytes as f64),
            arguments.rounds
        ),
        "the clock stops when all of it is on the disk, whoever wrote it".to_owned(),
        format!("msb pull and {SKOPEO_PULL} read a registry on loopback, the others the layout"),
    ];
    if arguments.cold {
        notes.push("the blobs were dropped from the page cache before each run".to_owned());
    }
    notes.push(
        "-E noinline_data makes layers that a merged image can address by block, as msb's are"
            .to_owned(),
    );
    notes.extend(others.iter().cloned());
    let table = |title: &str, unit, rows| Table {
        title: title.to_owned(),
        conditions: Conditions {
            cache: if arguments.cold {
                Cache::Cold
            } else {
                Cache::Warm
            },
            durability: Durability::Synced,
            place: format!("written to {}", arguments.work.display()),
            notes: notes.clone(),
        },
        unit,
        columns: outcomes
            .iter()
            .map(|outcome| outcome.name.to_owned())
            .collect(),
        baseline: Some(0),
        rows,
        plot: Plot::Ratios,
    };
    let row = |name: &str, figures: fn(&Outcome) -> &Vec<f64>| {
        let cells = outcomes
            .iter()
            .map(|outcome| Some(Cell::from_rounds(figures(outcome).clone())));
        Row::new(name, cells.collect())
    };
    vec![
        table(
            "Taking an image: time",
            Unit::Seconds,
            vec![
                row("wall", |outcome| &outcome.wall_s),
                row("processors", |outcome| &outcome.cpu_s),
            ],
        ),
        table(
            "Taking an image: bytes",
            Unit::Bytes,
            vec![
                row("most memory of a process", |outcome| &outcome.peak_bytes),
                row("sent to the disk", |outcome| &outcome.written_bytes),
                row("on the disk afterwards", |outcome| &outcome.left_bytes),
            ],
        ),
    ]
}

/// Judges the load and the pull.
pub(super) fn targets(outcomes: &[Outcome]) -> Vec<Target> {
    let named = |name: &str| outcomes.iter().find(|outcome| outcome.name == name);
    let Some(bound) = named("the bound") else {
        return Vec::new();
    };
    let mut targets = Vec::new();
    for ours in ["msb load", "msb pull"].into_iter().filter_map(named) {
        if let Some(ratio) = ours.wall().ratio_to(&bound.wall()) {
            targets.push(Target::new(
                ratio.median <= LOAD_MAX,
                format!(
                    "{}: {:.2} of the bound's time (at most {LOAD_MAX})",
                    ours.name, ratio.median
                ),
            ));
        }
        for other in ["mkfs.erofs", "umoci unpack", "skopeo copy", SKOPEO_PULL]
            .into_iter()
            .filter(|&other| other != SKOPEO_PULL || ours.name == "msb pull")
            .filter_map(named)
        {
            if let Some(ratio) = ours.wall().ratio_to(&other.wall()) {
                targets.push(Target::new(
                    ratio.median < 1.0,
                    format!(
                        "{}: {:.2} of the time of {} (below 1)",
                        ours.name, ratio.median, other.name
                    ),
                ));
            }
        }
    }
    let disk = |outcome: &Outcome| Cell::from_rounds(outcome.left_bytes.clone()).spread();
    if let (Some(ours), Some(theirs)) = (
        named("msb load").and_then(disk),
        named("mkfs.erofs").and_then(disk),
    ) {
        targets.push(Target::new(
            ours.median <= theirs.median,
            format!(
                "msb load leaves {} on the disk (mkfs.erofs: {})",
                Unit::Bytes.shown(ours.median),
                Unit::Bytes.shown(theirs.median)
            ),
        ));
    }
    targets
}
