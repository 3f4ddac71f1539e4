use command_journal::{History, NewCommand, NextState, Rollback, Undo, UndoError};
use diagnosis::{Diagnose as _, ErrorKind, Face};

use super::{Fixture, numbers};

impl Fixture {
    fn history(&self) -> History {
        self.journal.history().expect("read")
    }

    fn undo(&self, count: usize) -> Undo {
        let undo = self.history().undo("work", count, |_| true);
        undo.expect("it can be undone")
    }

    fn roll_back(&self, to: &str, to_created_s: u64, kept: &str) {
        let rollback = Rollback {
            to,
            to_created_s,
            kept,
        };
        self.journal.rolled_back(&rollback).expect("appended");
    }

    /// Undoes commands, and returns their numbers.
    fn undone(&self, count: usize, kept: &str) -> Vec<u64> {
        let undo = self.undo(count);
        self.roll_back(&undo.snapshot, 0, kept);
        numbers(&undo.commands)
    }

    /// Returns the numbers of the commands that are undone.
    fn all_undone(&self) -> Vec<u64> {
        let mut entries = self.entries();
        entries.retain(|entry| entry.is_undone);
        numbers(&entries)
    }
}

#[test]
fn an_undo_goes_further_back_each_time() {
    let fixture = Fixture::new();
    fixture.command("one");
    fixture.command("two");
    let plain = NewCommand::new(["without a snapshot"]);
    fixture.journal.begin(&plain).expect("begun");
    fixture.command("four");
    assert_eq!(fixture.undone(1, "kept-1"), [4]);
    assert_eq!(fixture.all_undone(), [4]);
    assert_eq!(fixture.undo(1).snapshot, "command-2");
    assert_eq!(fixture.undone(1, "kept-2"), [3, 2]);
    assert_eq!(fixture.all_undone(), [2, 3, 4]);
    fixture.command("five");
    assert_eq!(fixture.undone(2, "kept-3"), [5, 1]);
    assert_eq!(fixture.all_undone(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_rollback_to_the_kept_state_undoes_an_undo() {
    let fixture = Fixture::new();
    fixture.command("one");
    fixture.command("two");
    fixture.undone(2, "kept-1");
    fixture.roll_back("kept-1", 0, "kept-2");
    assert!(fixture.all_undone().is_empty());
    fixture.undone(1, "kept-3");
    assert_eq!(fixture.all_undone(), [2]);
    // Commands after an undo are on another branch.
    fixture.command("three");
    fixture.roll_back("kept-3", 0, "kept-4");
    assert_eq!(fixture.all_undone(), [3]);
    fixture.roll_back("kept-4", 0, "kept-5");
    assert_eq!(fixture.all_undone(), [2]);
}

#[test]
fn a_rollback_to_a_users_snapshot_undoes_what_came_later() {
    let fixture = Fixture::new();
    fixture.command("one");
    fixture.journal.snapshot_taken("clean").expect("appended");
    fixture.command("two");
    fixture.roll_back("clean", 0, "kept-1");
    assert_eq!(fixture.all_undone(), [2]);
    assert_eq!(fixture.undo(1).number, 1);
    // One that the journal does not know is as old as its time says.
    fixture.roll_back("unknown", u64::MAX, "kept-2");
    assert_eq!(fixture.all_undone(), [2]);
    fixture.roll_back("older", 1, "kept-3");
    assert_eq!(fixture.all_undone(), [1, 2]);
}

#[test]
fn a_repeated_undo_whose_line_is_missing_takes_the_same_commands_back() {
    let fixture = Fixture::new();
    fixture.command("one");
    fixture.command("two");
    let undo = fixture.undo(1);
    // The process ended after the rollback, before the line.
    assert_eq!(fixture.undo(1), undo);
    fixture.command("three");
    assert_eq!(fixture.undone(1, "kept-1"), [3]);
    assert_eq!(fixture.undone(1, "kept-2"), [2]);
}

#[test]
fn a_command_is_followed_by_the_next_state_that_is_kept() {
    let fixture = Fixture::new();
    fixture.command("one");
    let plain = NewCommand::new(["without a snapshot"]);
    fixture.journal.begin(&plain).expect("begun");
    fixture.command("three");
    fixture.journal.snapshot_taken("clean").expect("appended");
    fixture.command("four");
    fixture.undone(1, "kept-1");
    fixture.command("five");
    let history = fixture.history();
    let next = |index: usize, removed: &[&str]| {
        history.next_state(&history.entries()[index], |name| !removed.contains(&name))
    };
    let snapshot = |name: &str| NextState::Snapshot(name.to_owned());
    assert_eq!(next(0, &[]), snapshot("command-3"));
    assert_eq!(next(0, &["command-3"]), snapshot("clean"));
    assert_eq!(next(2, &[]), snapshot("clean"));
    assert_eq!(next(2, &["clean", "command-4"]), snapshot("kept-1"));
    assert_eq!(next(3, &[]), snapshot("kept-1"));
    assert_eq!(next(3, &["kept-1", "command-5"]), NextState::Current);
    assert_eq!(next(4, &[]), NextState::Current);
}

#[test]
fn a_command_that_was_not_started_is_no_state_after_another() {
    let fixture = Fixture::new();
    fixture.command("one");
    // A user has a snapshot of this name.
    let refused = NewCommand::new(["two"]).with_snapshot();
    let refused = fixture.journal.begin(&refused).expect("begun");
    fixture.journal.withdraw(refused).expect("appended");
    fixture.command("two");
    let history = fixture.history();
    let next = history.next_state(&history.entries()[0], |_| true);
    assert_eq!(next, NextState::Snapshot("command-3".to_owned()));
}

#[test]
fn earlier_commands_that_ran_meanwhile_are_told() {
    let fixture = Fixture::new();
    let plain = |word: &str| {
        let begun = fixture.journal.begin(&NewCommand::new([word]));
        begun.expect("begun")
    };
    let killed = plain("killed by the rollback");
    fixture.command("two");
    assert_eq!(numbers(&fixture.undo(1).overlapping), [killed]);
    fixture.undone(1, "kept-1");
    let ended = plain("ended before");
    fixture.journal.end(ended, 0).expect("appended");
    let later = plain("ends later");
    let runs = plain("runs");
    let oldest = fixture.command("six");
    fixture.journal.end(later, 0).expect("appended");
    let undo = fixture.undo(1);
    assert_eq!(numbers(&undo.commands), [oldest]);
    assert_eq!(numbers(&undo.overlapping), [runs, later]);
}

#[test]
fn what_cannot_be_undone_is_told_with_the_number_and_the_remedy() {
    let fixture = Fixture::new();
    let refused = |count, from: u64| {
        let exists = |entry: &command_journal::Entry| entry.number >= from;
        let error = fixture.history().undo("work", count, exists);
        let error = error.expect_err("refused");
        let diagnosis = error.diagnosis();
        let hint = diagnosis.hints().first();
        let hint = hint.map(|hint| hint.words(Face::CommandLine).to_owned());
        (error, diagnosis.kind(), hint.unwrap_or_default())
    };
    fixture
        .journal
        .begin(&NewCommand::new(["true"]))
        .expect("begun");
    let (error, kind, hint) = refused(1, 0);
    assert!(matches!(error, UndoError::NoCommand { .. }));
    assert!(kind == ErrorKind::NotFound && hint.contains("msb exec --snapshot work"));
    for word in ["two", "three", "four"] {
        fixture.command(word);
    }
    let (error, kind, hint) = refused(4, 0);
    assert!(error.to_string().contains("3 of those"), "{error}");
    assert!(kind == ErrorKind::InvalidArgument && hint.contains("msb undo work 3"));
    let (error, _, hint) = refused(3, 3);
    let told = error.to_string();
    assert!(told.contains("command 2") && told.contains("command-2"));
    assert!(
        hint.contains("before command 3 with msb undo work 2"),
        "{hint}"
    );
    let (_, _, hint) = refused(1, 5);
    assert!(hint.contains("msb snapshot ls work"), "{hint}");
    assert_eq!(refused(0, 0).1, ErrorKind::InvalidArgument);
}

#[test]
fn a_snapshots_name_that_is_used_again_means_the_newer_state() {
    let fixture = Fixture::new();
    fixture.command("one");
    fixture.journal.snapshot_taken("clean").expect("appended");
    fixture.command("two");
    // The user removed it meanwhile.
    fixture.journal.snapshot_taken("clean").expect("appended");
    fixture.command("three");
    fixture.roll_back("clean", 0, "kept-1");
    assert_eq!(fixture.all_undone(), [3]);
    assert_eq!(fixture.undo(1).number, 2);
}

#[test]
fn a_command_that_was_interrupted_before_its_snapshot_does_not_count() {
    let fixture = Fixture::new();
    fixture.command("one");
    let interrupted = NewCommand::new(["two"]).with_snapshot();
    let interrupted = fixture.journal.begin(&interrupted).expect("begun");
    let exists = |entry: &command_journal::Entry| entry.number != interrupted;
    let undo = |count| fixture.history().undo("work", count, exists);
    assert_eq!(undo(1).expect("it can be undone").number, 1);
    let error = undo(2).expect_err("refused");
    assert!(matches!(error, UndoError::TooMany { found: 1, .. }));
    // One that has started has had a snapshot, which was removed.
    fixture.journal.job(interrupted, 1).expect("appended");
    let error = undo(1).expect_err("refused");
    assert!(matches!(error, UndoError::Removed { number: 2, .. }));
}

#[test]
fn a_snapshot_before_the_first_command_has_the_files_of_none() {
    let fixture = Fixture::new();
    fixture.journal.snapshot_taken("clean").expect("appended");
    fixture.command("one");
    // Its time is the same second as that of the command.
    fixture.roll_back("clean", u64::MAX, "kept-1");
    assert_eq!(fixture.all_undone(), [1]);
}
