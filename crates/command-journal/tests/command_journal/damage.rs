use std::fs;

use command_journal::NewCommand;

use super::{Fixture, numbers};

#[test]
fn a_torn_last_line_is_ignored_and_overwritten() {
    let fixture = Fixture::new();
    for _ in 0..3 {
        fixture.command("true");
    }
    let whole = fs::read(&fixture.path).expect("read");
    let lines: Vec<_> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let before: usize = lines[..4].iter().map(|line| line.len()).sum();
    for length in before..=before + lines[4].len() {
        fs::write(&fixture.path, &whole[..length]).expect("written");
        let history = fixture.journal.history().expect("read");
        let is_whole = length == before + lines[4].len();
        let expected = if is_whole { 3 } else { 2 };
        assert_eq!(history.entries().len(), expected, "{length} bytes");
        assert_eq!(history.damaged_count(), 0);
        assert_eq!(fixture.command("next"), expected as u64 + 1);
        let history = fixture.journal.history().expect("read");
        assert_eq!(history.damaged_count(), 0, "{length} bytes");
        assert_eq!(history.entries().len(), expected + 1);
    }
}

#[test]
fn a_changed_or_foreign_line_loses_no_other() {
    let fixture = Fixture::new();
    for _ in 0..4 {
        fixture.command("true");
    }
    let mut bytes = fs::read(&fixture.path).expect("read");
    let second = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .expect("an end");
    // The end of command 1.
    bytes[second + 20] ^= 1;
    bytes.extend(b"\x1b[31mrm -rf /\xff\n\n");
    bytes.extend(vec![b'x'; 100_000]);
    bytes.push(b'\n');
    fs::write(&fixture.path, &bytes).expect("written");
    let history = fixture.journal.history().expect("read");
    assert_eq!(numbers(history.entries()), [1, 2, 3, 4]);
    assert_eq!(history.entries()[0].exit_code, None);
    assert_eq!(history.entries()[1].exit_code, Some(0));
    assert_eq!(history.damaged_count(), 3);
    assert!(history.damaged()[1].text.starts_with("\u{1b}[31mrm"));
    assert!(
        history
            .damaged()
            .iter()
            .all(|line| line.text.len() <= 3 * 80)
    );
    // The last line that can be read is before the tail that a writer reads.
    assert_eq!(fixture.command("next"), 5);
    assert_eq!(fixture.entries().len(), 5);
}

#[test]
fn any_content_is_bounded_and_appended_to() {
    let fixture = Fixture::new();
    for content in [
        vec![b'\n'; 20 << 20],
        vec![0; 20 << 20],
        b"a\n".repeat(9 << 20),
    ] {
        fs::write(&fixture.path, content).expect("written");
        let _ = fs::remove_file(fixture.path.with_extension("1"));
        let history = fixture.journal.history().expect("read");
        assert!(history.entries().is_empty());
        assert!(history.damaged().len() <= 200);
        assert_eq!(fixture.command("next"), 1);
        assert_eq!(fixture.entries().len(), 1);
    }
}

#[test]
fn a_journal_that_cannot_be_written_is_an_error() {
    let fixture = Fixture::new();
    fs::create_dir(&fixture.path).expect("made");
    let command = NewCommand::new(["true"]).with_snapshot();
    fixture.journal.begin(&command).expect_err("a directory");
    let missing = command_journal::Journal::new("/proc/self/none/commands");
    missing.begin(&command).expect_err("no such directory");
    assert!(missing.history().expect("none").entries().is_empty());
}
