//! The journal: what is appended is read, whatever happens to the file.

mod damage;
mod undo;

use std::path::PathBuf;
use std::thread;

use command_journal::{Entry, Journal, NewCommand};
use tempfile::TempDir;

/// A journal in a directory of its own.
struct Fixture {
    _directory: TempDir,
    path: PathBuf,
    journal: Journal,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("commands");
        Self {
            journal: Journal::new(&path),
            path,
            _directory: directory,
        }
    }

    /// Runs a command with a snapshot before it.
    fn command(&self, word: &str) -> u64 {
        let command = NewCommand::new([word]).with_snapshot();
        let number = self.journal.begin(&command).expect("begun");
        self.journal.end(number, 0).expect("ended");
        number
    }

    fn entries(&self) -> Vec<Entry> {
        self.journal.history().expect("read").entries().to_vec()
    }
}

/// Returns the numbers of entries.
fn numbers(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.number).collect()
}

#[test]
fn a_command_is_listed_with_its_end_and_its_job() {
    let fixture = Fixture::new();
    let journal = &fixture.journal;
    assert!(fixture.entries().is_empty());
    journal.end(7, 0).expect("there is no journal");
    assert!(!fixture.path.exists());

    let first = journal
        .begin(&NewCommand::new(["sh", "-c", "exit 3"]))
        .expect("begun");
    let second = journal
        .begin(&NewCommand::new([b"\xff\x1b".as_slice()]).with_snapshot())
        .expect("begun");
    journal.job(second, 4).expect("appended");
    journal.end(first, 3).expect("appended");
    let third = journal.begin(&NewCommand::new(["gone"])).expect("begun");
    journal.withdraw(third).expect("appended");

    let entries = fixture.entries();
    assert_eq!(numbers(&entries), [1, 2]);
    assert_eq!(entries[0].argv, ["sh", "-c", "exit 3"]);
    assert_eq!((entries[0].exit_code, entries[0].job), (Some(3), None));
    assert!(entries[0].duration_ms().is_some() && entries[0].snapshot.is_none());
    assert_eq!(entries[1].argv, ["\u{fffd}\u{1b}"]);
    assert_eq!((entries[1].exit_code, entries[1].job), (None, Some(4)));
    assert_eq!(entries[1].snapshot.as_deref(), Some("command-2"));
    assert!(
        entries
            .iter()
            .all(|entry| !entry.is_undone && !entry.is_cut)
    );
    // Numbers are never given twice.
    assert_eq!(fixture.command("next"), 4);
}

#[test]
fn a_long_command_is_cut() {
    let fixture = Fixture::new();
    let long = ["x".repeat(3000), "\u{1}".repeat(3000), "y".to_owned()];
    let bytes = [vec![0xff_u8; 100_000]];
    let many = vec![""; 100_000];
    fixture
        .journal
        .begin(&NewCommand::new(&long))
        .expect("begun");
    fixture
        .journal
        .begin(&NewCommand::new(&bytes))
        .expect("begun");
    fixture
        .journal
        .begin(&NewCommand::new(&many))
        .expect("begun");
    for entry in fixture.entries() {
        let length: usize = entry.argv.iter().map(|word| word.len() + 1).sum();
        assert!(entry.is_cut && length <= 4097, "{length}");
    }
    assert_eq!(fixture.entries()[0].argv[0], long[0]);
}

#[test]
fn many_commands_leave_two_files_and_the_newest_of_them() {
    let fixture = Fixture::new();
    for _ in 0..12_000 {
        fixture
            .journal
            .begin(&NewCommand::new(["true"]))
            .expect("begun");
    }
    let entries = fixture.entries();
    assert_eq!(entries.last().map(|entry| entry.number), Some(12_000));
    assert_eq!(entries.first().map(|entry| entry.number), Some(5_001));
    assert_eq!(entries.len(), 7_000);
    // The end of a command is found, although the command is in the other file.
    fixture.journal.end(9_000, 5).expect("appended");
    assert_eq!(fixture.entries()[3_999].exit_code, Some(5));
}

#[test]
fn a_file_with_long_commands_is_full_earlier() {
    let fixture = Fixture::new();
    let command = NewCommand::new(["\u{1}".repeat(4096)]);
    for _ in 0..800 {
        fixture.journal.begin(&command).expect("begun");
    }
    let full = fixture.path.with_extension("1");
    for path in [&fixture.path, &full] {
        let length = path.metadata().expect("there").len();
        assert!(length < 9 << 20, "{} bytes", length);
    }
    assert_eq!(
        fixture.entries().last().map(|entry| entry.number),
        Some(800)
    );
}

#[test]
fn writers_at_once_lose_nothing_and_share_no_number() {
    let fixture = Fixture::new();
    // The threads open the file anew each time, as processes do.
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let number = fixture.journal.begin(&NewCommand::new(["true"]));
                    let number = number.expect("begun");
                    fixture.journal.end(number, 1).expect("ended");
                    if number.is_multiple_of(97) {
                        fixture.journal.history().expect("read");
                    }
                }
            });
        }
    });
    let entries = fixture.entries();
    let expected: Vec<u64> = (1..=1_600).collect();
    assert_eq!(numbers(&entries), expected);
    let ended = entries.iter().filter(|entry| entry.exit_code == Some(1));
    assert_eq!(ended.count(), 1_600);
}
