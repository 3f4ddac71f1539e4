//! Compares msb in every case of layer semantics with the right tree.
//!
//! Each row of the table is an image. The rows share one image, each in a directory of its own,
//! except those about the root or an archive's form. The right tree is the one that `umoci unpack`
//! makes of the row's layers, or of a plain archive that spells the answer out. The host's kernel,
//! mounting msb's artifacts, and the guest's kernel have to show the same, line by line.
//! `docs/fidelity.md` is written from the run.

mod across;
mod after_boot;
mod archive;
mod attributes;
mod fixture;
mod kinds;
mod names;
mod oracle;
mod report;
mod row;
mod sizes;
mod sparse;

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, anyhow, ensure};
use fs_err as fs;
use test_fixtures::{paths, tools};
use test_support::harness::{self, Arguments, Trial};
use test_support::settings;

use after_boot::Findings;
use fixture::{Fixture, Seen};
use row::Row;

/// Writes `docs/fidelity.md` from this run, in which every row has to pass.
const RECORD: &str = "MSB_TEST_RECORD";
const DOCUMENT: &str = "docs/fidelity.md";
/// The document that gives the number of the table's rows.
const SPECIFICATION: &str = "SPECIFICATION.md";

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

/// The table of one run. Data that rows share is made when the first row needs it.
pub(crate) struct Table {
    /// The rows that this run judges.
    rows: Vec<&'static Row>,
    shared: Mutex<Shared>,
}

/// Data that several tests use.
#[derive(Default)]
struct Shared {
    fixture: Option<Fixture>,
    /// The trees of the image that rows share, or the error.
    seen: Option<Result<Seen, String>>,
    after_boot: Option<Result<Findings, String>>,
}

impl Table {
    /// Takes the rows that the arguments choose.
    pub(crate) fn new(arguments: &Arguments) -> Arc<Self> {
        let is_chosen = |row: &&Row| {
            let test = harness::test(name(row), || Ok(String::new()));
            let test = test.with_ignored_flag(row.is_large);
            !arguments.is_filtered_out(&test) && !arguments.is_ignored(&test)
        };
        Arc::new(Self {
            rows: rows().filter(is_chosen).collect(),
            shared: Mutex::default(),
        })
    }

    /// Returns a test for each row, for each check after boot, and for the document.
    pub(crate) fn tests(self: &Arc<Self>) -> Vec<Trial> {
        let of_row = |row: &'static Row| {
            let table = Arc::clone(self);
            let run = move || table.judge(row);
            harness::test(name(row), run).with_ignored_flag(row.is_large)
        };
        let after_boot = after_boot::CHECKS.iter().chain(after_boot::PROGRAMS);
        let of_check = |check: &'static after_boot::Check| {
            let table = Arc::clone(self);
            let name = format!("fidelity::after_boot::{}", check.name);
            harness::test(name, move || table.after_boot(check.name))
        };
        let mut tests: Vec<Trial> = rows().map(of_row).collect();
        tests.extend(after_boot.map(of_check));
        if !settings::is_set(RECORD) {
            let name = "fidelity::docs_fidelity_md_is_written_from_the_table";
            tests.push(harness::test(name, compare_document));
        }
        tests
    }

    fn judge(&self, row: &Row) -> Result<String> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let Shared { fixture, seen, .. } = &mut *shared;
        let fixture = prepared(fixture)?;
        let seen = seen.get_or_insert_with(|| {
            let seen = fixture.show_shared(&self.rows);
            seen.map_err(|error| format!("{error:#}"))
        });
        let seen = seen.as_ref().map_err(|error| anyhow!(error.clone()));
        fixture.judge(row, seen.context("the image that rows share")?)?;
        Ok(String::new())
    }

    fn after_boot(&self, check: &str) -> Result<String> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let Shared {
            fixture,
            after_boot,
            ..
        } = &mut *shared;
        let fixture = prepared(fixture)?;
        let findings = after_boot.get_or_insert_with(|| {
            let findings = after_boot::judge(fixture);
            findings.map_err(|error| format!("{error:#}"))
        });
        let findings = findings.as_ref().map_err(|error| anyhow!(error.clone()))?;
        let finding = findings.get(check).context("it was not judged")?;
        finding.clone().map_err(|error| anyhow!(error))?;
        Ok(String::new())
    }

    /// Ends a run without a failure: removes its files, and writes the document if it is to be
    /// recorded.
    pub(crate) fn end(&self) -> Result<()> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fixture) = shared.fixture.take() {
            fs::remove_dir_all(&fixture.work)?;
        }
        if settings::is_set(RECORD) {
            let judged = self.rows.len();
            ensure!(
                judged == rows().count() && shared.after_boot.is_some(),
                "a run of {judged} rows is not the whole table: nothing is recorded"
            );
            fs::write(paths::root().join(DOCUMENT), report::text(&PARTS))?;
        }
        Ok(())
    }
}

fn rows() -> impl Iterator<Item = &'static Row> {
    PARTS.iter().flat_map(|(_, rows)| *rows)
}

fn name(row: &Row) -> String {
    format!("fidelity::{}", row.id)
}

fn prepared(fixture: &mut Option<Fixture>) -> Result<&Fixture> {
    match fixture {
        Some(fixture) => Ok(fixture),
        None => {
            tools::install()?;
            Ok(fixture.insert(Fixture::prepare()?))
        }
    }
}

/// Checks that the document equals the one that a run of the table would write, and that the
/// specification gives the number of its rows.
fn compare_document() -> Result<String> {
    let text = fs::read_to_string(paths::root().join(DOCUMENT))?;
    ensure!(
        text == report::text(&PARTS),
        "{DOCUMENT} is not what this table gives; run: cargo xtask fidelity --record"
    );
    let after_boot = after_boot::CHECKS.len() + after_boot::PROGRAMS.len();
    let count = format!("`{DOCUMENT}` | {} rows |", rows().count() + after_boot);
    let specification = fs::read_to_string(paths::root().join(SPECIFICATION))?;
    ensure!(
        specification.contains(&count),
        "{SPECIFICATION} does not say {count}"
    );
    Ok(String::new())
}

/// Returns every layer of the table, by its row's name, as a blob.
pub(crate) fn archives() -> Vec<(String, Vec<u8>)> {
    rows()
        .flat_map(|row| {
            let layers = oracle::layers(row, &row.place());
            let name = move |index: usize| format!("{}-{index}", row.id);
            layers
                .into_iter()
                .enumerate()
                .map(move |(index, layer)| (name(index), layer.bytes))
        })
        .collect()
}

/// Returns every row of the table, by its name, as the blobs of an image. The rows about sizes are
/// left out, because other engines take long for them.
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
