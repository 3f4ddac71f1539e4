use std::fs::File;
use std::time::Instant;

use anyhow::Result;
use ext4_writer::Options;
use fstree::{Inode, Metadata, Name, Tree};

use super::{Arguments, SIZES, Size};
use crate::allocation::allocated_bytes;
use crate::report::{Cache, Cell, Conditions, Durability, Plot, Row, Table, Target, Unit};

/// A name, and the figures that it stands for.
type Named = (&'static str, fn(&Figures) -> &Vec<f64>);

/// The costs of disks of one size, round by round.
#[derive(Default)]
struct Figures {
    written_s: Vec<f64>,
    synced_s: Vec<f64>,
    allocated_bytes: Vec<f64>,
}

/// Writes disks as the creation of a sandbox does, of each size in turn.
pub(super) fn measure(arguments: &Arguments) -> Result<(Vec<Table>, Vec<Target>)> {
    let mut all = SIZES.map(|_| Figures::default());
    for round in 0..=arguments.rounds {
        for (size, made) in SIZES.iter().zip(&mut all) {
            let mut one = Figures::default();
            write(arguments, size, &mut one)?;
            if round > 0 {
                made.written_s.extend(one.written_s);
                made.synced_s.extend(one.synced_s);
                made.allocated_bytes.extend(one.allocated_bytes);
            }
        }
    }
    let table = |title: &str, unit, columns: &[Named]| Table {
        title: title.to_owned(),
        conditions: Conditions {
            cache: Cache::Warm,
            durability: Durability::Mixed,
            place: format!("written to {}", arguments.work.display()),
            notes: vec![format!(
                "{} rounds after one warm-up, sizes in turn; the file's creation is in it, msb's start is not",
                arguments.rounds
            )],
        },
        unit,
        columns: columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
        baseline: None,
        rows: SIZES
            .iter()
            .zip(&all)
            .map(|(size, made)| {
                let cells = columns
                    .iter()
                    .map(|(_, of)| Some(Cell::from_rounds(of(made).clone())));
                Row::new(size.name, cells.collect())
            })
            .collect(),
        plot: Plot::None,
    };
    let tables = vec![
        table(
            "A fresh writable disk: time",
            Unit::Seconds,
            &[
                ("written", |made| &made.written_s),
                ("then synced", |made| &made.synced_s),
            ],
        ),
        table(
            "A fresh writable disk: bytes on the host",
            Unit::Bytes,
            &[("allocated", |made| &made.allocated_bytes)],
        ),
    ];
    let targets = SIZES
        .iter()
        .zip(&all)
        .flat_map(|(size, made)| judge(size, made));
    Ok((tables, targets.collect()))
}

fn write(arguments: &Arguments, size: &Size, made: &mut Figures) -> Result<()> {
    let directory = tempfile::tempdir_in(&arguments.work)?;
    let tree = empty_upper()?;
    let options = Options {
        size_bytes: size.bytes,
        label: "msb-upper".to_owned(),
        ..Options::default()
    };
    let begun = Instant::now();
    let file = File::create_new(directory.path().join("upper.ext4"))?;
    ext4_writer::write(&tree, &options, &file)?;
    let written = begun.elapsed();
    file.sync_all()?;
    made.written_s.push(written.as_secs_f64());
    made.synced_s
        .push((begun.elapsed() - written).as_secs_f64());
    made.allocated_bytes
        .push(allocated_bytes(directory.path())? as f64);
    Ok(())
}

/// Returns the initial content of a sandbox's writable disk.
fn empty_upper() -> Result<Tree<Vec<u8>>> {
    let mut tree = Tree::new(Metadata::directory(0o755));
    for (name, mode) in [("upper", 0o755), ("work", 0o700)] {
        let directory = tree.add(Inode::directory(Metadata::directory(mode)));
        tree.link(tree.root(), Name::new(name.as_bytes())?, directory);
    }
    Ok(tree)
}

fn judge(size: &Size, made: &Figures) -> Vec<Target> {
    let spread = |figures: &[f64]| Cell::from_rounds(figures.to_vec()).spread();
    let at_most = |words: &str, found: f64, most: f64, unit: Unit| {
        let (name, found_words) = (size.name, unit.shown(found));
        let most_words = unit.shown(most);
        Target::new(
            found <= most,
            format!("{name}: {words} {found_words} (at most {most_words})"),
        )
    };
    let allocated = spread(&made.allocated_bytes).map(|allocated| {
        let most_bytes = size.allocated_max_bytes as f64;
        at_most("on the host", allocated.most, most_bytes, Unit::Bytes)
    });
    let written = size.made_max_s.zip(spread(&made.written_s));
    let written =
        written.map(|(most_s, written)| at_most("made in", written.median, most_s, Unit::Seconds));
    allocated.into_iter().chain(written).collect()
}
