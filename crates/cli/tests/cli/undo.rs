//! Histories and undos of a sandbox that never ran.

use std::fs;
use std::path::PathBuf;

use command_journal::{Journal, NewCommand, snapshot_name};
use serde_json::Value;

use crate::support::{Said, TestHome, host_architecture};

/// A sandbox `box` of the image `app`, and its journal.
struct Fixture {
    home: TestHome,
    directory: PathBuf,
    journal: Journal,
}

impl Fixture {
    fn new() -> Self {
        let home = TestHome::new();
        home.load("app", &host_architecture());
        let created = home.msb(&["create", "-q", "--name", "box", "app"]);
        assert_eq!(created.code, Some(0), "{}", created.stderr);
        let inspected = home.msb(&["inspect", "--format", "{{.directory}}", "box"]);
        let directory = PathBuf::from(inspected.stdout.trim());
        Self {
            journal: Journal::new(directory.join("commands")),
            home,
            directory,
        }
    }

    fn msb(&self, words: &[&str]) -> Said {
        self.home.msb(words)
    }

    fn printed(&self, words: &[&str]) -> String {
        let said = self.msb(words);
        assert_eq!(said.code, Some(0), "{words:?}: {}", said.stderr);
        said.stdout
    }

    /// Records a command, and takes the snapshot before it as a running sandbox would.
    fn command(&self, argv: &[&str], exit_code: u8) -> u64 {
        let entries = self.journal.history().expect("read");
        let newest = entries.entries().last().map_or(0, |entry| entry.number);
        // A snapshot that a user takes after the line would be another state of the name.
        let name = snapshot_name(newest + 1);
        self.printed(&["snapshot", "create", &format!("box@{name}")]);
        let path = self.directory.join(format!("snapshots/{name}.json"));
        let bytes = fs::read(&path).expect("read");
        let mut record: Value = sealed_records::open(&bytes).expect("intact");
        let fields = record.as_object_mut().expect("an object");
        fields.remove("seal");
        fields.insert("is_automatic".to_owned(), true.into());
        fields.insert("command".to_owned(), (newest + 1).into());
        let sealed = sealed_records::seal(&record).expect("sealed");
        fs::write(path, sealed).expect("written");
        let command = NewCommand::new(argv).with_snapshot();
        let number = self.journal.begin(&command).expect("begun");
        assert_eq!(number, newest + 1);
        self.journal.end(number, exit_code).expect("ended");
        number
    }

    fn history(&self) -> Vec<Value> {
        let json = self.printed(&["history", "--format", "json", "box"]);
        serde_json::from_str(&json).expect("JSON")
    }
}

#[test]
fn commands_are_listed_undone_and_brought_back() {
    let fixture = Fixture::new();
    assert_eq!(fixture.printed(&["history", "-q", "box"]), "");
    fixture.command(&["make", "install"], 0);
    let plain = NewCommand::new(["ls"]);
    fixture.journal.begin(&plain).expect("begun");
    fixture.command(&["sh", "-c", "exit 3"], 3);
    let table = fixture.printed(&["history", "box"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("NUMBER   STARTED"), "{table}");
    assert!(lines[3].contains("command-3"), "{table}");
    assert!(lines[3].ends_with("sh -c exit 3"), "{table}");
    let history = fixture.history();
    assert_eq!(history[2]["exit_code"], 3);
    assert_eq!(history[1]["snapshot"], Value::Null);
    assert_eq!(
        fixture.printed(&["history", "-q", "-n", "2", "box"]),
        "2\n3\n"
    );
    let counted = fixture.printed(&["history", "--changes", "box"]);
    assert!(counted.contains("none"), "{counted}");

    let listed = fixture.msb(&["snapshot", "ls", "box"]);
    assert!(!listed.stdout.contains("command-"), "{}", listed.stdout);
    assert!(
        listed.stderr.contains("2 automatic snapshots"),
        "{}",
        listed.stderr
    );
    let all = fixture.printed(&["snapshot", "ls", "--format", "{{.name}} {{.origin}}", "box"]);
    assert_eq!(all, "command-1 command\ncommand-3 command\n");

    let planned = fixture.printed(&["undo", "-n", "box", "2"]);
    assert_eq!(planned.lines().count(), 4, "{planned}");
    let undone = fixture.msb(&["undo", "box"]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(undone.stdout.starts_with("box@"), "{}", undone.stdout);
    assert!(undone.stderr.contains("command 3 is undone: sh -c exit 3"));
    assert!(undone.stderr.contains("msb rollback box@"));
    let flags = |history: &[Value]| -> Vec<bool> {
        let flags = history.iter().map(|one| one["undone"] == true);
        flags.collect()
    };
    assert_eq!(flags(&fixture.history()), [false, false, true]);
    assert_eq!(fixture.msb(&["undo", "-q", "box"]).stderr, "");
    assert_eq!(flags(&fixture.history()), [true, true, true]);
}

#[test]
fn an_earlier_command_that_still_runs_is_told() {
    let fixture = Fixture::new();
    let runs = NewCommand::new(["sleep", "9"]);
    fixture.journal.begin(&runs).expect("begun");
    fixture.command(&["make"], 0);
    let told = "changes of command 1, whose end was not seen before: sleep 9";
    let planned = fixture.msb(&["undo", "-n", "box"]).stderr;
    assert!(
        planned.contains(&format!("would also lose {told}")),
        "{planned}"
    );
    assert_eq!(fixture.msb(&["undo", "-q", "-n", "box"]).stderr, "");
    let undone = fixture.msb(&["undo", "box"]).stderr;
    assert!(undone.contains(&format!("also loses {told}")), "{undone}");
}

#[test]
fn the_changes_of_a_command_are_up_to_the_next_snapshot_that_exists() {
    let fixture = Fixture::new();
    for word in ["one", "two", "three"] {
        fixture.command(&[word], 0);
    }
    fixture.printed(&["snapshot", "rm", "box@command-2"]);
    let json = fixture.printed(&["history", "--changes", "--format", "json", "box"]);
    let history: Vec<Value> = serde_json::from_str(&json).expect("JSON");
    assert_eq!(history[0]["changes"]["added"], 0, "{json}");
    assert_eq!(history[1]["changes"], Value::Null);
    assert_eq!(history[2]["changes"]["added"], 0, "{json}");
}

#[test]
fn what_cannot_be_undone_is_refused_and_names_the_remedy() {
    let fixture = Fixture::new();
    let refused = |words: &[&str], expected: &[&str]| {
        let said = fixture.msb(words);
        said.assert_refused(&[]);
        for word in expected {
            assert!(said.stderr.contains(word), "{word}: {}", said.stderr);
        }
    };
    let none = [
        "sandbox box has no command to undo",
        "msb exec --snapshot box",
    ];
    refused(&["undo", "box"], &none);
    for word in ["one", "two", "three"] {
        fixture.command(&[word], 0);
    }
    refused(&["undo", "box", "0"], &["0 is not a number of commands"]);
    refused(
        &["undo", "box", "4"],
        &["cannot undo 4 commands", "msb undo box 3"],
    );
    fixture.printed(&["snapshot", "rm", "box@command-2"]);
    let removed = ["cannot undo command 2", "command-2", "msb undo box 1"];
    refused(&["undo", "box", "2"], &removed);
    // Another snapshot of the name is not that of the command.
    fixture.printed(&["snapshot", "create", "box@command-2"]);
    refused(&["undo", "box", "2"], &removed);
    fixture.printed(&["snapshot", "prune", "--force", "box"]);
    refused(&["undo", "box"], &["was removed", "msb snapshot ls box"]);
    refused(&["undo", "none"], &["none"]);
    assert!(fixture.history().iter().all(|one| one["undone"] == false));
    refused(&["exec", "--snapshot", "box", "true"], &["is not running"]);
    refused(&["create", "--undo-limit", "0", "app"], &["1 to 400"]);
}

#[test]
fn a_name_is_a_sandboxs_before_it_is_an_images() {
    let fixture = Fixture::new();
    fixture.command(&["in the sandbox"], 0);
    fixture.printed(&["tag", "app", "box"]);
    assert!(
        fixture
            .printed(&["history", "box"])
            .contains("in the sandbox")
    );
    assert!(
        fixture
            .printed(&["image", "history", "box"])
            .starts_with("LAYER")
    );
    assert!(fixture.printed(&["history", "app"]).starts_with("LAYER"));
    fixture
        .msb(&["history", "--changes", "app"])
        .assert_refused(&["--changes"]);
    fixture
        .msb(&["history", "nothing"])
        .assert_refused(&["no such sandbox or image: nothing"]);
}

#[test]
fn hostile_commands_and_damaged_lines_are_escaped() {
    let fixture = Fixture::new();
    let hostile = NewCommand::new(["\u{1b}]0;title\u{7}", "a\nb", "\u{202e}"]);
    fixture.journal.begin(&hostile).expect("begun");
    let path = fixture.directory.join("commands");
    let mut bytes = fs::read(&path).expect("read");
    bytes.extend(b"\x1b[31mforeign\xff\n");
    fs::write(&path, bytes).expect("written");
    fixture.command(&["after"], 0);
    let said = fixture.msb(&["history", "box"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let told = [said.stdout.as_str(), &said.stderr].concat();
    assert!(
        !told.contains('\u{1b}') && !told.contains('\u{202e}'),
        "{told}"
    );
    assert!(said.stdout.contains("after"), "{told}");
    assert!(
        said.stderr.contains("a line of the history is damaged"),
        "{told}"
    );
    assert!(said.stderr.contains("foreign"), "{told}");
}

#[test]
fn a_fork_has_no_history_and_a_removal_takes_it_along() {
    let fixture = Fixture::new();
    fixture.command(&["make"], 0);
    fixture.printed(&["rename", "box", "crate"]);
    assert_eq!(fixture.printed(&["history", "-q", "crate"]), "1\n");
    fixture.printed(&["fork", "crate@command-1", "fork"]);
    assert_eq!(fixture.printed(&["history", "-q", "fork"]), "");
    fixture.printed(&["rm", "crate"]);
    assert!(!fixture.directory.exists());
}
