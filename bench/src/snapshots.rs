//! The cost of snapshots, rollbacks and forks of a stopped sandbox, beside a copy of its disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use generations::{FileStorage, Pool};

use crate::allocation::allocated_bytes;
use crate::growth::image::Shape;
use crate::measure::{self, Cost};
use crate::msb::Msb;
use crate::report::{
    Cache, Cell, Conditions, Durability, Machine, Plot, Report, Row, Showing, Table, Target, Unit,
};

/// The most bytes that a fork takes before it is written to.
const FORK_BYTES_MAX: f64 = (1 << 20) as f64;
/// The sandbox that is kept, and the beginning of the names of its forks.
const NAME: &str = "bench";
const FORK: &str = "fork";
/// The snapshot that is gone back to.
const FIRST: &str = "bench@first";

/// Arguments of `msb bench snapshots`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb bench snapshots\n  \
    msb bench snapshots --mib 16 --forks 10 --rounds 3")]
pub(crate) struct Arguments {
    /// Number of counted rounds
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Length of the files on the writable disk, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    mib: u32,
    /// Number of forks that one command makes
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=1000))]
    forks: u32,
    /// The directory in which the image and the sandboxes are made
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    work: PathBuf,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// An operation, and its cost in each round.
struct Series {
    name: String,
    costs: Vec<Cost>,
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let work = tempfile::tempdir_in(&arguments.work)?;
    let home = work.path().join("home");
    let msb = msb.in_home(&home);
    let disk = make_sandbox(&msb, &home, work.path(), arguments.mib)?;
    let raw = work.path().join("raw.ext4");
    let copied = copy(&disk.join("upper.ext4"), &raw).status()?;
    ensure!(copied.success(), "cp ended with {copied}");
    msb.output(["snapshot", "create", FIRST])?;
    let count = arguments.forks.to_string();
    let operations = [
        ("copy of the disk (cp)", Vec::new()),
        ("snapshot create", vec!["snapshot", "create", NAME]),
        ("rollback", vec!["rollback", FIRST]),
        ("fork", vec!["fork", FIRST, FORK]),
        ("forks", vec!["fork", "-n", &count, FIRST, FORK]),
    ];
    let mut series: Vec<Series> = Vec::new();
    for (name, _) in &operations {
        let name = match *name {
            "forks" => format!("{count} forks, one command"),
            name => name.to_owned(),
        };
        series.push(Series {
            name,
            costs: Vec::new(),
        });
    }
    let mut fork_bytes = Vec::new();
    for round in 0..=arguments.rounds {
        for ((name, words), series) in operations.iter().zip(&mut series) {
            let copied = work.path().join("copy.ext4");
            let cost = if words.is_empty() {
                measure::cost(&copy(&raw, &copied), work.path())?
            } else {
                change(&disk.join("generations"), round)?;
                let before = allocated_bytes(&home)?;
                let cost = measure::cost(msb.command().args(words), work.path())?;
                if *name == "forks" && round > 0 {
                    let bytes = allocated_bytes(&home)?.saturating_sub(before);
                    fork_bytes.push(bytes as f64 / f64::from(arguments.forks));
                }
                cost
            };
            // The first round warms the caches.
            if round > 0 {
                series.costs.push(cost);
            }
            tidy(&msb, &copied)?;
        }
    }
    let (tables, targets) = tables(arguments, &series, fork_bytes);
    Ok(Report::new(
        "snapshots",
        Machine::this(None),
        tables,
        targets,
    ))
}

/// Makes a stopped sandbox with files on its writable disk. Returns its directory.
fn make_sandbox(msb: &Msb, home: &Path, work: &Path, mib: u32) -> Result<PathBuf> {
    let layout = work.join("layout");
    Shape::spread(1, 1_000).write(&layout)?;
    let image = "bench/image:latest";
    msb.output(["load", "--quiet", "--tag", image, &layout.to_string_lossy()])?;
    let file = work.join("file");
    let mut state = 1_u64;
    let bytes = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    });
    fs::write(&file, bytes.take((mib as usize) << 20).collect::<Vec<u8>>())?;
    let copied = format!("{}:/file", file.display());
    let create = ["create", "--no-command", "--name", NAME, "--copy"];
    msb.output(create.into_iter().chain([&*copied, image]))?;
    let mut sandboxes = fs::read_dir(home.join("sandboxes"))?;
    Ok(sandboxes.next().context("no sandbox was made")??.path())
}

fn copy(from: &Path, to: &Path) -> Command {
    let mut command = Command::new("cp");
    command.args(["--sparse=always", "--reflink=never"]);
    command.arg(from).arg(to);
    command
}

/// Changes a block of the disk, as a guest does that ran meanwhile.
fn change(generations: &Path, round: usize) -> Result<()> {
    let pool = Pool::new(FileStorage::open(generations)?);
    let id = pool.disks()?.pop().context("the pool has no disk")?;
    let mut disk = pool.open_disk(id)?;
    let middle = disk.size_bytes() / 2 / generations::BLOCK_BYTES * generations::BLOCK_BYTES;
    disk.write(&[round as u8; 4096], middle)?;
    Ok(disk.flush()?)
}

/// Removes what an operation made, but the first snapshot.
fn tidy(msb: &Msb, copied: &Path) -> Result<()> {
    if copied.exists() {
        fs::remove_file(copied)?;
    }
    for line in msb.output(["snapshot", "ls", "-q", NAME])?.lines() {
        if line != FIRST {
            msb.output(["snapshot", "rm", line])?;
        }
    }
    let listed = msb.output(["ls", "--format", "{{.name}}"])?;
    let forks: Vec<&str> = listed
        .lines()
        .filter(|name| name.starts_with(FORK))
        .collect();
    if !forks.is_empty() {
        msb.output([&["rm"], &forks[..]].concat())?;
    }
    Ok(())
}

fn tables(
    arguments: &Arguments,
    series: &[Series],
    fork_bytes: Vec<f64>,
) -> (Vec<Table>, Vec<Target>) {
    let row = |series: &Series, figure: fn(&Cost) -> f64| {
        let rounds = series.costs.iter().map(figure).collect();
        Row::new(&series.name, vec![Some(Cell::from_rounds(rounds))])
    };
    let table = |title: &str, unit, rows| {
        Table {
        title: title.to_owned(),
        conditions: Conditions {
            cache: Cache::Warm,
            durability: Durability::Synced,
            place: format!("written to {}", arguments.work.display()),
            notes: vec![
                format!("{} rounds after one warm-up, in turn", arguments.rounds),
                format!("a stopped sandbox whose writable disk has {} MiB", arguments.mib),
                "one block is changed before each, as by a guest".to_owned(),
                "whole commands, the start of the program included; the clock stops when all is on the disk"
                    .to_owned(),
            ],
        },
        unit,
        columns: vec!["each".to_owned()],
        baseline: None,
        rows,
        plot: Plot::None,
    }
    };
    let most = fork_bytes.iter().copied().fold(0.0, f64::max);
    let taken = Cell::from_rounds(fork_bytes);
    let words = format!(
        "msb fork: {:.0} KiB for each fork before it is written to (at most {:.0} KiB)",
        most / 1024.0,
        FORK_BYTES_MAX / 1024.0
    );
    let targets = vec![Target::new(most <= FORK_BYTES_MAX, words)];
    let times = series
        .iter()
        .map(|one| row(one, |cost| cost.wall_s))
        .collect();
    let mut bytes: Vec<Row> = series
        .iter()
        .map(|one| row(one, |cost| cost.written_bytes as f64))
        .collect();
    bytes.push(Row::new("space of each fork", vec![Some(taken)]));
    let tables = vec![
        table("Snapshots and forks: time", Unit::Seconds, times),
        table(
            "Snapshots and forks: bytes sent to the disk",
            Unit::Bytes,
            bytes,
        ),
    ];
    (tables, targets)
}
