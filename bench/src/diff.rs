//! The cost of `msb diff` of a sandbox with few changes, by the number of names in its image, beside
//! a walk that reads the attributes of all files in two directories, as a comparison of unpacked
//! trees has to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::growth::image::{Shape, path_of};
use crate::measure::{self, Cost};
use crate::msb::Msb;
use crate::report::{
    Cache, Cell, Conditions, Durability, Machine, Plot, Report, Row, Showing, Table, Target, Unit,
};

/// The number of changed files.
const CHANGES: u32 = 100;
/// The numbers of files in the images. The last one is judged.
const FILES: [u32; 3] = [1_000, 10_000, 100_000];
/// The longest time of a comparison with the greatest image.
const TIME_MAX_MS: f64 = 300.0;
/// The most memory of such a comparison.
const MEMORY_MAX_MIB: f64 = 128.0;

/// Arguments of `msb bench diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb bench diff\n  \
    msb bench diff --most-files 10000 --rounds 5")]
pub(crate) struct Arguments {
    /// Number of counted rounds of each point
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only images with at most this number of files
    #[arg(long, value_name = "FILES", default_value_t = 100_000)]
    most_files: u32,
    /// The directory in which images are made and loaded
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    work: PathBuf,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// The costs of one point, round by round.
#[derive(Default)]
struct Point {
    walk: Vec<Cost>,
    msb: Vec<Cost>,
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let (mut times, mut memory) = (Vec::new(), Vec::new());
    for files in FILES
        .into_iter()
        .filter(|&files| files <= arguments.most_files)
    {
        let point = point(arguments, msb, files)?;
        let row = |figure: fn(&Cost) -> f64| {
            let cell = |costs: &[Cost]| Some(Cell::from_rounds(costs.iter().map(figure).collect()));
            let cells = vec![cell(&point.walk), cell(&point.msb)];
            Row::at(f64::from(files), files.to_string(), cells)
        };
        times.push(row(|cost| cost.wall_s));
        memory.push(row(|cost| cost.peak_memory_bytes as f64));
    }
    let mut targets = target(&times, 1_000.0, TIME_MAX_MS, "ms");
    targets.extend(target(&memory, 1.0 / 1_048_576.0, MEMORY_MAX_MIB, "MiB"));
    let table = |title: &str, unit, rows| Table {
        title: title.to_owned(),
        conditions: conditions(arguments),
        unit,
        columns: vec!["find".to_owned(), "msb diff".to_owned()],
        baseline: Some(0),
        rows,
        plot: Plot::Lines,
    };
    let tables = vec![
        table(
            "Comparison by names of the image: time",
            Unit::Seconds,
            times,
        ),
        table(
            "Comparison by names of the image: most memory",
            Unit::Bytes,
            memory,
        ),
    ];
    Ok(Report::new("diff", Machine::this(None), tables, targets))
}

fn conditions(arguments: &Arguments) -> Conditions {
    Conditions {
        cache: Cache::Warm,
        durability: Durability::Synced,
        place: format!("read from {}", arguments.work.display()),
        notes: vec![
            format!("{} rounds after one warm-up, in turn", arguments.rounds),
            format!(
                "{CHANGES} changed files of 100 bytes; find prints the attributes of the same tree twice"
            ),
        ],
    }
}

/// Judges the greatest image, if it was measured.
fn target(rows: &[Row], factor: f64, limit: f64, unit: &str) -> Vec<Target> {
    let greatest = FILES.last().copied().map(f64::from);
    let row = rows.iter().find(|row| row.at == greatest);
    let median = row.and_then(|row| Some(row.cell(1)?.spread()?.median * factor));
    let judged = median.map(|median| {
        let words = format!(
            "{CHANGES} changes in {} names: {median:.0} {unit} (at most {limit})",
            greatest.unwrap_or_default()
        );
        Target::new(median <= limit, words)
    });
    judged.into_iter().collect()
}

fn point(arguments: &Arguments, msb: &Msb, files: u32) -> Result<Point> {
    let work = tempfile::tempdir_in(&arguments.work)?;
    let place = |name: &str| work.path().join(name);
    Shape::spread(1, files).write(&place("layout"))?;
    let msb = msb.in_home(&place("home"));
    let succeed = |words: &[&str]| msb.output(words.iter().copied()).map(drop);
    let layout = place("layout");
    succeed(&[
        "load",
        "--quiet",
        "--tag",
        "bench/image:latest",
        &layout.to_string_lossy(),
    ])?;
    let changed = place("changed");
    write_tree(&changed, 0..CHANGES, "changed")?;
    let copy = format!("{}/d0/d0/.:/d0/d0", changed.display());
    succeed(&[
        "create",
        "--name",
        "diff",
        "--copy",
        &copy,
        "bench/image:latest",
    ])?;
    let tree = place("tree");
    write_tree(&tree, 0..files, "content")?;
    let listed = msb.output(["diff", "--name-only", "diff", "--", "/d0/d0"])?;
    let expected = CHANGES as usize;
    let found = listed
        .lines()
        .filter(|line| line.starts_with("/d0/d0/"))
        .count();
    ensure!(
        found == expected,
        "msb diff lists {found} changed files, not {expected}"
    );
    let mut point = Point::default();
    for round in 0..=arguments.rounds {
        let walk = measure::cost(&walk(&tree), work.path())?;
        let mut command = msb.command();
        let compared = measure::cost(command.args(["diff", "diff"]), work.path())?;
        if round > 0 {
            point.walk.push(walk);
            point.msb.push(compared);
        }
    }
    Ok(point)
}

/// Returns a walk that reads all attributes of two trees with the same names.
fn walk(tree: &Path) -> Command {
    let mut command = Command::new("find");
    command
        .args([tree, tree])
        .args(["-printf", "%p %y %m %U %G %s %T@\\n"]);
    command
}

fn write_tree(root: &Path, numbers: std::ops::Range<u32>, text: &str) -> Result<()> {
    for number in numbers {
        let path = root.join(path_of(number));
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(path, format!("{text} {number}"))?;
    }
    Ok(())
}
