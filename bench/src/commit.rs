//! The cost of `msb commit`, beside `tar | gzip` of the same files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::growth::image::Shape;
use crate::measure::{self, Cost};
use crate::msb::Msb;
use crate::report::{
    Cache, Cell, Conditions, Durability, Machine, Plot, Report, Row, Showing, Table, Target, Unit,
};

/// The length of a changed file, in bytes.
const FILE_BYTES: usize = 64 << 10;
/// The least speed of a commit, as a part of that of `tar | gzip`.
const SPEED_MIN: f64 = 0.8;
/// The image that is committed.
const CHILD: &str = "bench/child:latest";

/// Arguments of `msb bench commit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb bench commit\n  \
    msb bench commit --mib 16 --rounds 3")]
pub(crate) struct Arguments {
    /// Number of counted rounds
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Length of all changed files together, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    mib: u32,
    /// The directory in which the image, the sandbox and the archive are made
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    work: PathBuf,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let work = tempfile::tempdir_in(&arguments.work)?;
    let (files, msb) = (
        work.path().join("files"),
        msb.in_home(&work.path().join("home")),
    );
    write_files(&files, arguments.mib)?;
    make_sandbox(&msb, &files, work.path())?;
    let (mut packed, mut committed) = (Vec::new(), Vec::new());
    for round in 0..=arguments.rounds {
        let archive = work.path().join("archive.tar.gz");
        let pack = measure::cost(&pack(&files, &archive), work.path())?;
        fs::remove_file(&archive)?;
        let commit = measure::cost(msb.command().args(["commit", "bench", CHILD]), work.path())?;
        // Otherwise the next commit would find the same image.
        msb.output(["rmi", CHILD])?;
        // The first round warms the caches.
        if round > 0 {
            packed.push(pack);
            committed.push(commit);
        }
    }
    let (tables, target) = tables(arguments, &packed, &committed);
    let targets = target.into_iter().collect();
    Ok(Report::new("commit", Machine::this(None), tables, targets))
}

/// Writes files whose content gzip makes about half as long.
fn write_files(directory: &Path, mib: u32) -> Result<()> {
    let mut state = 1_u64;
    for number in 0..mib * ((1 << 20) / FILE_BYTES as u32) {
        let path = directory.join(format!("d{}/f{number}", number / 100));
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        let letters = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            b'a' + (state % 16) as u8
        });
        fs::write(path, letters.take(FILE_BYTES).collect::<Vec<u8>>())?;
    }
    Ok(())
}

fn make_sandbox(msb: &Msb, files: &Path, work: &Path) -> Result<()> {
    let layout = work.join("layout");
    Shape::spread(1, 1_000).write(&layout)?;
    let image = "bench/image:latest";
    msb.output(["load", "--quiet", "--tag", image, &layout.to_string_lossy()])?;
    let copied = format!("{}:/files", files.display());
    let create = ["create", "--no-command", "--name", "bench", "--copy"];
    msb.output(create.into_iter().chain([&*copied, image]))
        .map(drop)
}

fn pack(files: &Path, archive: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "tar -C \"$0\" -c . | gzip >\"$1\""]);
    command.arg(files).arg(archive);
    command
}

fn tables(
    arguments: &Arguments,
    packed: &[Cost],
    committed: &[Cost],
) -> (Vec<Table>, Option<Target>) {
    let row = |name: &str, figure: fn(&Cost) -> f64| {
        let cell = |costs: &[Cost]| Some(Cell::from_rounds(costs.iter().map(figure).collect()));
        Row::new(name, vec![cell(packed), cell(committed)])
    };
    let wall = row("wall", |cost| cost.wall_s);
    let target = wall.cell(1).zip(wall.cell(0)).and_then(|(ours, theirs)| {
        let speed = 1.0 / ours.ratio_to(theirs)?.median;
        let words =
            format!("msb commit: {speed:.2} of the speed of tar | gzip (at least {SPEED_MIN})");
        Some(Target::new(speed >= SPEED_MIN, words))
    });
    let table = |title: &str, unit, rows| Table {
        title: title.to_owned(),
        conditions: Conditions {
            cache: Cache::Warm,
            durability: Durability::Synced,
            place: format!("written to {}", arguments.work.display()),
            notes: vec![
                format!("{} rounds after one warm-up, in turn", arguments.rounds),
                format!(
                    "{} MiB in files of {} KiB, which gzip makes half as long",
                    arguments.mib,
                    FILE_BYTES >> 10
                ),
                "the clock stops when all of it is on the disk".to_owned(),
            ],
        },
        unit,
        columns: vec!["tar | gzip".to_owned(), "msb commit".to_owned()],
        baseline: Some(0),
        rows,
        plot: Plot::Ratios,
    };
    let times = vec![wall, row("processors", |cost| cost.cpu_s)];
    let bytes = vec![
        row("most memory of a process", |cost| {
            cost.peak_memory_bytes as f64
        }),
        row("sent to the disk", |cost| cost.written_bytes as f64),
    ];
    let tables = vec![
        table("Keeping changes: time", Unit::Seconds, times),
        table("Keeping changes: bytes", Unit::Bytes, bytes),
    ];
    (tables, target)
}
