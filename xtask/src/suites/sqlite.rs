use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::{Arguments, Outcome};
use crate::checks::Bed;

const SANDBOX: &str = "suites-sqlite";
const VOLUME: &str = "suites-sqlite";
/// Says how many rows there are and what SQLite thinks of its file, then adds rows and says each once its
/// transaction has ended.
const WRITER: &str = "
import os, sqlite3, sys
path, journal, synchronous = sys.argv[1:]
database = sqlite3.connect(path, isolation_level=None)
database.execute('PRAGMA journal_mode=' + journal)
database.execute('PRAGMA synchronous=' + synchronous)
database.execute('CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, filling BLOB)')
verdict = database.execute('PRAGMA integrity_check').fetchone()[0]
count, last = database.execute('SELECT count(*), coalesce(max(number), 0) FROM rows').fetchone()
print('rows', count, last, verdict, flush=True)
while True:
    last += 1
    database.execute('INSERT INTO rows VALUES (?, ?)', (last, os.urandom(last % 5000)))
    print(last, flush=True)
";

/// A journal, how it is synced, and where the database lies.
struct Case {
    name: &'static str,
    path: &'static str,
    journal: &'static str,
    synchronous: &'static str,
}

/// A rollback journal is gone for good only once its directory is synced, which SQLite does with EXTRA.
const CASES: [Case; 2] = [
    Case {
        name: "WAL on the root",
        path: "/srv/suite.db",
        journal: "wal",
        synchronous: "full",
    },
    Case {
        name: "rollback journal on a volume",
        path: "/volume/suite.db",
        journal: "delete",
        synchronous: "extra",
    },
];
const FIRST_ANSWER_TRIES: u32 = 3;

/// Kills the machine of a writing SQLite again and again: each row that was committed must be there.
pub(super) fn run(bed: &Bed, arguments: &Arguments) -> Result<Outcome> {
    let mut figures = Vec::new();
    for case in &CASES {
        let rows = case
            .killed(bed, arguments.kills)
            .with_context(|| case.name.to_owned())?;
        figures.push(format!(
            "{}: {} kills, {rows} rows",
            case.name, arguments.kills
        ));
    }
    Ok(Outcome::good(figures.join("; ")))
}

impl Case {
    /// Returns how many rows were committed in all.
    fn killed(&self, bed: &Bed, kills: u32) -> Result<u64> {
        let _ = msb(bed, &["rm", "-f", SANDBOX])?;
        let _ = msb(bed, &["volume", "rm", VOLUME])?;
        let memory = format!("{}M", bed.memory_mib);
        let volume = format!("{VOLUME}:/volume");
        let create = [
            "create",
            "--pull",
            "never",
            "--name",
            SANDBOX,
            "--memory",
            &memory,
            "--cpus",
            "1",
            "--network",
            "none",
            "-v",
            &volume,
            &bed.image,
            "python3",
            "-c",
            WRITER,
            self.path,
            self.journal,
            self.synchronous,
        ];
        done(bed, &create)?;
        let mut committed = 0;
        for round in 0..kills {
            // Not two rounds alike, and the same in every run.
            let alone = Duration::from_millis(u64::from(50 + round * 137 % 1500));
            committed = self
                .round(bed, committed, alone)
                .with_context(|| format!("kill {round}, after {} ms", alone.as_millis()))?;
        }
        done(bed, &["rm", "-f", SANDBOX])?;
        done(bed, &["volume", "rm", VOLUME])?;
        Ok(committed)
    }

    /// Starts the writer, which must find what was committed, kills its machine, and returns the last row
    /// that it said.
    fn round(&self, bed: &Bed, committed: u64, alone: Duration) -> Result<u64> {
        let (mut child, mut lines, first) = started(bed)?;
        let words: Vec<&str> = first.split(' ').collect();
        let ["rows", count, last, "ok"] = words[..] else {
            bail!("the writer said {first:?}");
        };
        ensure!(count == last, "{count} rows, and the last is number {last}");
        let found: u64 = last.parse()?;
        ensure!(
            found >= committed,
            "{committed} rows were committed, {found} are there"
        );
        let said = Arc::new(AtomicU64::new(found));
        let seen = Arc::clone(&said);
        let reading = std::thread::spawn(move || -> Result<()> {
            while let Some(line) = lines.next().transpose()? {
                seen.store(line.trim().parse()?, Ordering::Release);
            }
            Ok(())
        });
        std::thread::sleep(alone);
        done(bed, &["kill", SANDBOX])?;
        child.wait()?;
        reading.join().expect("a reader does not panic")?;
        Ok(said.load(Ordering::Acquire))
    }
}

/// Starts the sandbox and returns its writer's first line; once more where an emulated guest did not
/// come up.
fn started(bed: &Bed) -> Result<(Child, Lines<BufReader<ChildStdout>>, String)> {
    for _ in 0..FIRST_ANSWER_TRIES {
        let mut start = bed.machine_command("start");
        let mut child = start
            .args(["--attach", SANDBOX])
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("no pipe")?).lines();
        if let Some(first) = lines.next().transpose()? {
            return Ok((child, lines, first));
        }
        child.wait()?;
        bed.fresh_starts.set(bed.fresh_starts.get() + 1);
    }
    bail!("the writer did not start {FIRST_ANSWER_TRIES} times in a row")
}

fn msb(bed: &Bed, arguments: &[&str]) -> Result<std::process::Output> {
    Ok(Command::new(&bed.msb).args(arguments).output()?)
}

fn done(bed: &Bed, arguments: &[&str]) -> Result<()> {
    let output = msb(bed, arguments)?;
    ensure!(
        output.status.success(),
        "msb {} gave {}: {}",
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
