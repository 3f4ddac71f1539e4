use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::conditions;
use super::image::Shape;
use super::load::Fixture;
use crate::msb::{Msb, text};
use crate::report::{Cell, Durability, Plot, Row, Table, Target, Unit};
use crate::sandbox::Sandbox;

pub(super) const IMAGE: &str = "bench/image:latest";
/// The largest ratio of the cost with the most layers to the cost with one layer.
const GROWTH_MAX: f64 = 1.1;

/// The number of sandboxes created in a round. One takes a few milliseconds, which a delay of the
/// disk can double.
const CREATIONS: usize = 20;
/// The number of sandboxes started in a round.
const STARTS: usize = 3;

/// A name, and the figures that it stands for.
type Named = (&'static str, fn(&Figures) -> &Vec<f64>);

/// The costs of a sandbox of one image, round by round.
#[derive(Default)]
struct Figures {
    create_s: Vec<f64>,
    start_s: Vec<f64>,
    memory_bytes: Vec<f64>,
}

/// An msb with one image in its own home, which is removed when this value is dropped.
pub(super) struct Home {
    pub(super) msb: Msb,
    _directory: tempfile::TempDir,
}

/// Returns a home with an image of this shape.
pub(super) fn home_of(fixture: &Fixture<'_>, shape: &Shape) -> Result<Home> {
    let layout = tempfile::tempdir_in(&fixture.arguments.work)?;
    shape.write(layout.path())?;
    let directory = tempfile::tempdir_in(&fixture.arguments.work)?;
    let msb = fixture.msb.in_home(directory.path());
    let mut load = msb.command();
    load.args(["load", "--quiet", "--tag", IMAGE]);
    text(load.arg(layout.path()))?;
    Ok(Home {
        msb,
        _directory: directory,
    })
}

/// Creates and starts sandboxes of images with few and many layers, in turn.
pub(super) fn measure(
    fixture: &Fixture<'_>,
    shapes: &[Shape],
) -> Result<(Vec<Table>, Vec<Target>)> {
    let mut homes = Vec::new();
    for shape in shapes {
        homes.push((home_of(fixture, shape)?, Figures::default()));
    }
    for round in 0..=fixture.arguments.rounds {
        for _ in 0..CREATIONS {
            for (home, figures) in &mut homes {
                created(&home.msb, figures)?;
            }
        }
        for _ in 0..STARTS {
            for (home, figures) in &mut homes {
                started(&home.msb, &fixture.arguments.vmm, figures)?;
            }
        }
        if round == 0 {
            for (_, figures) in &mut homes {
                *figures = Figures::default();
            }
        }
    }
    let figures: Vec<&Figures> = homes.iter().map(|(_, figures)| figures).collect();
    Ok((tables(fixture, shapes, &figures), targets(&figures)))
}

/// Measures a sandbox that is started and removed.
fn started(msb: &Msb, vmm: &str, figures: &mut Figures) -> Result<()> {
    let sandbox = created(msb, &mut Figures::default())?;
    let begun = Instant::now();
    text(msb.command().args(["start", "--vmm", vmm, &sandbox.name]))?;
    figures.start_s.push(begun.elapsed().as_secs_f64());
    let stats = msb.output(["stats", "--no-stream", "--format", "json", &sandbox.name])?;
    let stats: Value = serde_json::from_str(&stats)?;
    let memory_bytes = stats[0]["host"]["memory_bytes"].as_f64();
    figures
        .memory_bytes
        .push(memory_bytes.context("the statistics do not contain the memory")?);
    Ok(())
}

/// Creates one sandbox, which is removed when the result is dropped.
fn created(msb: &Msb, figures: &mut Figures) -> Result<Sandbox> {
    let sandbox = Sandbox::named(msb, "growth");
    let begun = Instant::now();
    let mut create = msb.command();
    create.args(["create", "--quiet", "--pull", "never", "--no-command"]);
    create.args(["--cpus", "1", "--memory", "256m", "--name", &sandbox.name]);
    text(create.arg(IMAGE))?;
    figures.create_s.push(begun.elapsed().as_secs_f64());
    Ok(sandbox)
}

fn tables(fixture: &Fixture<'_>, shapes: &[Shape], figures: &[&Figures]) -> Vec<Table> {
    let table = |title: &str, unit, columns: &[Named]| Table {
        title: title.to_owned(),
        conditions: conditions(
            fixture.arguments,
            Durability::None,
            &format!(
                "sandboxes without a command, 1 CPU, 256 MiB; {CREATIONS} are created in a round and {STARTS} \
                 started, of each image in turn; a start ends when the guest's agent answers"
            ),
        ),
        unit,
        columns: columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
        baseline: None,
        rows: shapes
            .iter()
            .zip(figures)
            .map(|(shape, figures)| {
                let cells = columns
                    .iter()
                    .map(|(_, of)| Some(Cell::from_rounds(of(figures).clone())));
                Row::at(
                    f64::from(shape.layers),
                    shape.layers.to_string(),
                    cells.collect(),
                )
            })
            .collect(),
        plot: Plot::Lines,
    };
    vec![
        table(
            "Sandboxes by layers: time",
            Unit::Seconds,
            &[
                ("create", |figures| &figures.create_s),
                ("start", |figures| &figures.start_s),
            ],
        ),
        table(
            "Sandboxes by layers: the host's memory",
            Unit::Bytes,
            &[("one sandbox", |figures| &figures.memory_bytes)],
        ),
    ]
}

/// Compares the last point with the first.
fn targets(figures: &[&Figures]) -> Vec<Target> {
    let (Some(first), Some(last)) = (figures.first(), figures.last()) else {
        return Vec::new();
    };
    let all: [Named; 3] = [
        ("create", |figures| &figures.create_s),
        ("start", |figures| &figures.start_s),
        ("memory", |figures| &figures.memory_bytes),
    ];
    let judged = all.into_iter().filter_map(|(name, of)| {
        let cell = |figures: &Figures| Cell::from_rounds(of(figures).clone());
        let ratio = cell(last).ratio_to(&cell(first))?.median;
        Some(Target::new(
            ratio <= GROWTH_MAX,
            format!("{name}: {ratio:.2} with the most layers, of one layer (at most {GROWTH_MAX})"),
        ))
    });
    judged.collect()
}
