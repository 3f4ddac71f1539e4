//! The cost of `msb diff` of a sandbox, by the names of its image, by its changes and by the bytes of
//! its image, beside a walk that reads the attributes of all files in two directories, as a
//! comparison of unpacked trees has to.

mod point;

use std::path::PathBuf;

use anyhow::Result;

use crate::measure::Cost;
use crate::msb::Msb;
use crate::report::{
    Cache, Cell, Conditions, Durability, Machine, Plot, Report, Row, Showing, Table, Target, Unit,
};
use point::Point;

/// The comparison of which the series change one number. Its files are as long as those of others.
const BASE: Point = Point {
    files: 10_000,
    file_bytes: 100,
    changes: 100,
};
/// The numbers of files in the images. The last one is judged.
const FILES: [u32; 3] = [1_000, 10_000, 100_000];
const CHANGES: [u32; 3] = [10, 100, 1_000];
const FILE_BYTES: [usize; 3] = [100, 10_000, 100_000];
/// The longest time of a comparison with the greatest image.
const TIME_MAX_MS: f64 = 300.0;
/// The most memory of such a comparison.
const MEMORY_MAX_MIB: f64 = 128.0;
/// The largest ratio of the time with the longest files to that with the shortest, which are a
/// thousandth of them. It leaves room for noise alone.
const GROWTH_MAX: f64 = 1.25;

/// Arguments of `msb bench diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    msb bench diff\n  \
    msb bench diff --most-files 1000 --rounds 3")]
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

/// Points that differ in one number.
struct Series {
    name: &'static str,
    /// The number of each point.
    points: Vec<(f64, Point)>,
}

/// The rows of a series.
struct Measured {
    name: &'static str,
    times: Vec<Row>,
    memory: Vec<Row>,
}

pub(crate) fn run(arguments: &Arguments, msb: &Msb) -> Result<Report> {
    let (mut tables, mut targets) = (Vec::new(), Vec::new());
    for series in series(arguments.most_files) {
        let measured = series.measure(arguments, msb)?;
        targets.extend(measured.targets());
        tables.extend(measured.tables(arguments));
    }
    Ok(Report::new("diff", Machine::this(None), tables, targets))
}

/// Returns the series, without the points whose images have more files.
fn series(most_files: u32) -> Vec<Series> {
    let files = FILES.map(|files| (f64::from(files), Point { files, ..BASE }));
    let changes = CHANGES.map(|changes| (f64::from(changes), Point { changes, ..BASE }));
    let bytes = FILE_BYTES.map(|file_bytes| {
        let point = Point { file_bytes, ..BASE };
        (file_bytes as f64 * f64::from(BASE.files), point)
    });
    let all = [
        ("names of the image", files),
        ("changes", changes),
        ("bytes of the image", bytes),
    ];
    let fitting = all.map(|(name, points)| {
        let points = points.into_iter();
        let points = points.filter(|(_, point)| point.files <= most_files);
        Series {
            name,
            points: points.collect(),
        }
    });
    let mut series = Vec::from(fitting);
    series.retain(|series| !series.points.is_empty());
    series
}

impl Series {
    fn measure(&self, arguments: &Arguments, msb: &Msb) -> Result<Measured> {
        let (mut times, mut memory) = (Vec::new(), Vec::new());
        for (at, point) in &self.points {
            let costs = point.measure(msb, arguments.rounds, &arguments.work)?;
            let row = |figure: fn(&Cost) -> f64| {
                let cell =
                    |costs: &[Cost]| Some(Cell::from_rounds(costs.iter().map(figure).collect()));
                let cells = vec![cell(&costs.walk), cell(&costs.msb)];
                Row::at(*at, at.to_string(), cells)
            };
            times.push(row(|cost| cost.wall_s));
            memory.push(row(|cost| cost.peak_memory_bytes as f64));
        }
        Ok(Measured {
            name: self.name,
            times,
            memory,
        })
    }
}

impl Measured {
    fn tables(self, arguments: &Arguments) -> [Table; 2] {
        let table = |what: &str, unit, rows| Table {
            title: format!("Comparison by {}: {what}", self.name),
            conditions: conditions(arguments),
            unit,
            columns: vec!["find".to_owned(), "msb diff".to_owned()],
            baseline: Some(0),
            rows,
            plot: Plot::Lines,
        };
        [
            table("time", Unit::Seconds, self.times),
            table("most memory", Unit::Bytes, self.memory),
        ]
    }

    /// Judges the greatest image by names, and the growth with bytes, if they were measured.
    fn targets(&self) -> Vec<Target> {
        let greatest = |rows: &[Row]| {
            let row = rows.iter().find(|row| row.at == Some(f64::from(FILES[2])));
            Some(row?.cell(1)?.spread()?.median)
        };
        let mut targets = Vec::new();
        let limit = |median: f64, limit: f64, unit: &str| {
            let (changes, files) = (BASE.changes, FILES[2]);
            let words =
                format!("{changes} changes in {files} names: {median:.0} {unit} (at most {limit})");
            Target::new(median <= limit, words)
        };
        match self.name {
            "names of the image" => {
                let time_ms = greatest(&self.times).map(|seconds| seconds * 1_000.0);
                targets.extend(time_ms.map(|time| limit(time, TIME_MAX_MS, "ms")));
                let memory_mib = greatest(&self.memory).map(|bytes| bytes / 1_048_576.0);
                targets.extend(memory_mib.map(|memory| limit(memory, MEMORY_MAX_MIB, "MiB")));
            }
            "bytes of the image" => targets.extend(self.growth()),
            _ => {}
        }
        targets
    }

    fn growth(&self) -> Option<Target> {
        let median = |row: Option<&Row>| Some(row?.cell(1)?.spread()?.median);
        let ratio = median(self.times.last())? / median(self.times.first())?;
        let words = format!(
            "an image of a thousand times the bytes: {ratio:.2} of the time (at most {GROWTH_MAX})"
        );
        Some(Target::new(ratio <= GROWTH_MAX, words))
    }
}

fn conditions(arguments: &Arguments) -> Conditions {
    let Point {
        files,
        file_bytes,
        changes,
    } = BASE;
    Conditions {
        cache: Cache::Warm,
        durability: Durability::ReadOnly,
        place: format!("read from {}", arguments.work.display()),
        notes: vec![
            format!("{} rounds after one warm-up, in turn", arguments.rounds),
            format!(
                "{changes} changed files in {files} of {file_bytes} bytes, but for the number in \
                 the title; find prints the attributes of a tree of the same names twice"
            ),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_with_more_files_are_left_out() {
        let counts = |most_files| -> Vec<usize> {
            let series = series(most_files);
            series.iter().map(|series| series.points.len()).collect()
        };
        assert_eq!(counts(1_000), [1]);
        assert_eq!(counts(10_000), [2, 3, 3]);
        assert_eq!(counts(100_000), [3, 3, 3]);
    }
}
