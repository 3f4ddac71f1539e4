use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::{KILLS, Outcome};
use test_support::{TestEnv, settings};

const SANDBOX: &str = "suites-sqlite";
const VOLUME: &str = "suites-sqlite";
/// Prints the number of rows and SQLite's check of its file, then adds rows. It prints each row
/// once its transaction has ended.
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

/// A journal, its mode of syncing, and the database's path.
struct Case {
    name: &'static str,
    path: &'static str,
    journal: &'static str,
    synchronous: &'static str,
}

/// A rollback journal is removed durably only once its directory is synced, which EXTRA does.
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

/// Kills the machine of a writing SQLite repeatedly: each row that was committed must exist.
pub(super) fn run(env: &TestEnv) -> Result<Outcome> {
    let kills = settings::count(KILLS)?;
    let mut figures = Vec::new();
    for case in &CASES {
        let rows = case
            .killed(env, kills)
            .with_context(|| case.name.to_owned())?;
        figures.push(format!("{}: {kills} kills, {rows} rows", case.name));
    }
    Ok(Outcome::good(figures.join("; ")))
}

impl Case {
    /// Returns the number of all committed rows.
    fn killed(&self, env: &TestEnv, kills: u32) -> Result<u64> {
        let _ = msb(env, &["rm", "-f", SANDBOX])?;
        let _ = msb(env, &["volume", "rm", VOLUME])?;
        let memory = format!("{}M", env.memory_mib());
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
            env.image(),
            "python3",
            "-c",
            WRITER,
            self.path,
            self.journal,
            self.synchronous,
        ];
        done(env, &create)?;
        let mut committed = 0;
        for round in 0..kills {
            // The rounds differ, and are the same in every run.
            let alone = Duration::from_millis(u64::from(50 + round * 137 % 1500));
            committed = self
                .round(env, committed, alone)
                .with_context(|| format!("kill {round}, after {} ms", alone.as_millis()))?;
        }
        done(env, &["rm", "-f", SANDBOX])?;
        done(env, &["volume", "rm", VOLUME])?;
        Ok(committed)
    }

    /// Starts the writer, which must find the committed rows, and kills its machine. Returns the
    /// last row that it printed.
    fn round(&self, env: &TestEnv, committed: u64, alone: Duration) -> Result<u64> {
        let (mut child, mut lines, first) = started(env)?;
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
        done(env, &["kill", SANDBOX])?;
        child.wait()?;
        reading.join().expect("a reader does not panic")?;
        Ok(said.load(Ordering::Acquire))
    }
}

/// Starts the sandbox and returns its writer's first line. Starts it again if an emulated guest did
/// not answer.
fn started(env: &TestEnv) -> Result<(Child, Lines<BufReader<ChildStdout>>, String)> {
    for _ in 0..FIRST_ANSWER_TRIES {
        let mut start = env.machine_command("start");
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
    }
    bail!("the writer did not start {FIRST_ANSWER_TRIES} times in a row")
}

fn msb(env: &TestEnv, arguments: &[&str]) -> Result<std::process::Output> {
    Ok(env.msb().args(arguments).output()?)
}

fn done(env: &TestEnv, arguments: &[&str]) -> Result<()> {
    let output = msb(env, arguments)?;
    ensure!(
        output.status.success(),
        "msb {} gave {}: {}",
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
