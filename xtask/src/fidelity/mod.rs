//! What msb makes of every case of layer semantics, against who says what is right.
//!
//! Each row of the table is an image. The rows share one image, each in a directory of its own, but
//! for those that say something of the root or of an archive's form. The right tree is what
//! `umoci unpack` makes of the row's layers, or of a plain archive that spells the answer out; the
//! host's kernel, mounting msb's artifacts, and the guest's kernel have to show the same, line by
//! line. `docs/fidelity.md` is written from the run.

mod across;
mod after_boot;
mod archive;
mod attributes;
mod bench;
mod kinds;
mod names;
mod oracle;
mod report;
mod row;
mod sizes;
mod sparse;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fs_err as fs;

use crate::oracle::Msb;
use crate::{build, kernel, place, tools};
use bench::Bench;
use row::Row;

/// The heading of the rows that take long.
const SIZES: &str = "Sizes";
/// The table's parts: a heading and rows.
const PARTS: [(&str, &[Row]); 7] = [
    ("Names", names::ROWS),
    ("Entries", kinds::ROWS),
    ("Attributes", attributes::ROWS),
    ("Sparse files", sparse::ROWS),
    ("Archives and compression", archive::ROWS),
    ("Across layers", across::ROWS),
    (SIZES, sizes::ROWS),
];

/// What to run.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Write docs/fidelity.md from this run, large rows included
    #[arg(long)]
    pub(crate) record: bool,
    /// Judge the large rows too, which take minutes
    #[arg(long)]
    pub(crate) large: bool,
    /// Only the rows whose identifier holds this, and not the checks in the guest
    #[arg(long)]
    pub(crate) row: Option<String>,
}

impl Arguments {
    fn takes(&self, row: &Row) -> bool {
        let is_meant = self.row.as_ref().is_none_or(|part| row.id.contains(part));
        is_meant && (!row.is_large || self.large || self.record || self.row.is_some())
    }
}

/// Runs the table. With `record`, writes `docs/fidelity.md`; without, the file must be what this run
/// would write.
pub(crate) fn run(arguments: &Arguments) -> Result<String> {
    tools::install()?;
    let bench = Bench {
        msb: Msb {
            program: build::msb()?,
            home: place::scratch("fidelity-home")?,
        },
        kernel: kernel::fetch()?,
        tree_dump: build::tree_dump()?,
        work: place::scratch("fidelity")?,
    };
    let rows = PARTS.iter().flat_map(|(_, rows)| *rows);
    let rows: Vec<&Row> = rows.filter(|row| arguments.takes(row)).collect();
    let findings = bench.judge(&rows)?;
    let mut failed: Vec<String> = rows
        .iter()
        .zip(&findings)
        .filter_map(|(row, finding)| Some(format!("{}: {}", row.id, finding.as_ref().err()?)))
        .collect();
    let mut count = rows.len();
    if arguments.row.is_none() {
        failed.extend(after_boot::judge(&bench)?);
        count += after_boot::CHECKS.len() + after_boot::PROGRAMS.len();
    }
    for line in &failed {
        println!("FAILED  {line}");
    }
    ensure!(failed.is_empty(), "{} of {count} rows failed", failed.len(),);
    let text = report::text(&PARTS);
    check_in(
        &place::root().join("docs/fidelity.md"),
        &text,
        arguments.record,
    )?;
    fs::remove_dir_all(&bench.work)?;
    fs::remove_dir_all(&bench.msb.home)?;
    Ok(format!("{count} rows"))
}

/// Every layer of the table, by its row's name, as a blob.
pub(crate) fn archives() -> Vec<(String, Vec<u8>)> {
    let rows = PARTS.iter().flat_map(|(_, rows)| *rows);
    rows.flat_map(|row| {
        let layers = oracle::layers(row, &row.place());
        let name = move |index: usize| format!("{}-{index}", row.id);
        layers
            .into_iter()
            .enumerate()
            .map(move |(index, layer)| (name(index), layer.bytes))
    })
    .collect()
}

/// Every row of the table, by its name, as the blobs of an image; not those about sizes, which other
/// engines take long for.
pub(crate) fn cases() -> Vec<(String, Vec<Vec<u8>>)> {
    let parts = PARTS.iter().filter(|(heading, _)| *heading != SIZES);
    let rows = parts.flat_map(|(_, rows)| *rows);
    rows.map(|row| {
        let layers = oracle::layers(row, &row.place());
        let blobs = layers.into_iter().map(|layer| layer.bytes).collect();
        (row.id.to_owned(), blobs)
    })
    .collect()
}

fn check_in(path: &Path, text: &str, record: bool) -> Result<()> {
    if record {
        fs::write(path, text)?;
        return Ok(());
    }
    let path: PathBuf = path.to_owned();
    ensure!(
        fs::read_to_string(&path)? == text,
        "{} is not what this run gives; run: cargo xtask fidelity --record",
        path.display()
    );
    Ok(())
}
