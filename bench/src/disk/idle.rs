use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{Arguments, MIB, SIZES, Size};
use crate::allocation::allocated_bytes;
use crate::msb::{Msb, text};
use crate::report::{Cache, Cell, Conditions, Durability, Plot, Row, Table, Target, Unit};
use crate::sandbox::Sandbox;

/// The largest growth of an idle guest's disk.
const GROWTH_MAX_BYTES: u64 = MIB;

/// A sandbox without a command, and its disk.
struct Idle<'a> {
    size: &'a Size,
    _sandbox: Sandbox,
    upper: PathBuf,
    fresh_bytes: u64,
}

/// Starts a guest with a disk of each size, waits, and measures the disks again.
pub(super) fn measure(
    arguments: &Arguments,
    image: &str,
    msb: &Msb,
) -> Result<(Table, Vec<Target>)> {
    let watched: Vec<Idle<'_>> = SIZES
        .iter()
        .filter(|size| size.idle)
        .enumerate()
        .map(|(number, size)| start(arguments, image, msb, number, size))
        .collect::<Result<_>>()?;
    sleep(Duration::from_secs(60 * arguments.idle_minutes));
    let (mut rows, mut targets) = (Vec::new(), Vec::new());
    for idle in &watched {
        let after_bytes = allocated_bytes(&idle.upper)?;
        let cells = [idle.fresh_bytes, after_bytes].map(|bytes| Some(Cell::once(bytes as f64)));
        rows.push(Row::new(idle.size.name, cells.into()));
        let growth_bytes = after_bytes.saturating_sub(idle.fresh_bytes);
        targets.push(Target::new(
            growth_bytes <= GROWTH_MAX_BYTES,
            format!(
                "{}: grew by {} in {} minutes of an idle guest (at most {})",
                idle.size.name,
                Unit::Bytes.shown(growth_bytes as f64),
                arguments.idle_minutes,
                Unit::Bytes.shown(GROWTH_MAX_BYTES as f64)
            ),
        ));
    }
    let minutes = arguments.idle_minutes;
    let table = Table {
        title: "An idle guest's writable disk".to_owned(),
        conditions: Conditions {
            cache: Cache::Any,
            durability: Durability::None,
            place: format!("{image}, without a command, 1 CPU, 512 MiB"),
            notes: Vec::new(),
        },
        unit: Unit::Bytes,
        columns: vec!["fresh".to_owned(), format!("after {minutes} minutes")],
        baseline: None,
        rows,
        plot: Plot::None,
    };
    Ok((table, targets))
}

fn start<'a>(
    arguments: &Arguments,
    image: &str,
    msb: &Msb,
    number: usize,
    size: &'a Size,
) -> Result<Idle<'a>> {
    let sandbox = Sandbox::named(msb, &format!("disk-{number}"));
    let mut create = msb.command();
    create
        .args(["create", "--quiet", "--pull", "never", "--no-command"])
        .args(["--cpus", "1", "--memory", "512m", "--name", &sandbox.name])
        .args(["--upper-size", &size.bytes.to_string(), image]);
    text(&mut create)?;
    let inspected: Value = serde_json::from_str(&msb.output(["inspect", &sandbox.name])?)?;
    let directory = inspected[0]["directory"].as_str();
    let directory = directory.context("msb inspect prints no directory")?;
    let upper = Path::new(directory).join("generations");
    let fresh_bytes = allocated_bytes(&upper)?;
    let mut run = msb.command();
    text(run.args(["start", "--vmm", &arguments.vmm, &sandbox.name]))?;
    Ok(Idle {
        size,
        _sandbox: sandbox,
        upper,
        fresh_bytes,
    })
}
