//! SQLite, driven by the image's own Python, with every transaction synced.

use anyhow::Result;

use super::{Act, Job, Workload};
use crate::program::{command, output, path};

/// The script prints the duration of each operation, in ns.
const SCRIPT: &str = "
import sqlite3, sys, time
database, mode, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
connection = sqlite3.connect(database, isolation_level=None)
connection.execute('PRAGMA journal_mode=' + mode)
connection.execute('PRAGMA synchronous=FULL')
connection.execute('CREATE TABLE t (number INTEGER PRIMARY KEY, word TEXT)')
def timed(work):
    begun = time.monotonic_ns()
    work()
    print(time.monotonic_ns() - begun)
def insert(first):
    connection.execute('BEGIN')
    rows = ((number, 'word-%d' % number * 10) for number in range(first, first + 10))
    connection.executemany('INSERT INTO t VALUES (?, ?)', rows)
    connection.execute('COMMIT')
for step in range(count):
    timed(lambda: insert(step * 10))
for step in range(count):
    timed(lambda: connection.execute('UPDATE t SET word = ? WHERE number = ?', ('w', step * 7 % (count * 10))))
for step in range(count):
    timed(lambda: connection.execute('SELECT word FROM t WHERE number = ?', (step * 3,)).fetchall())
";

pub(super) static WORKLOADS: [Workload; 2] = [
    sqlite_workload("sqlite_journal", |job| transactions(job, "DELETE")),
    sqlite_workload("sqlite_wal", |job| transactions(job, "WAL")),
];

const fn sqlite_workload(
    name: &'static str,
    prepare: for<'a> fn(&'a Job<'a>) -> Result<Act<'a>>,
) -> Workload {
    Workload {
        lacks,
        ..Workload::writing(name, prepare)
    }
}

fn lacks() -> Option<String> {
    if path("python3").is_none() {
        return Some("the image has no python3".to_owned());
    }
    let imported = output(command("python3", "/".as_ref()).args(["-c", "import sqlite3"]));
    imported
        .err()
        .map(|_| "the image's python3 has no sqlite3".to_owned())
}

fn transactions<'a>(job: &'a Job<'a>, mode: &'static str) -> Result<Act<'a>> {
    let database = job.fixture.made("database");
    let count = job.sizes.transactions.to_string();
    Ok(Box::new(move |samples| {
        let mut python = command("python3", "/tmp".as_ref());
        python
            .args(["-c", SCRIPT])
            .arg(&database)
            .args([mode, &count]);
        for line in output(&mut python)?.lines() {
            samples.took(line.parse()?);
        }
        Ok(())
    }))
}
