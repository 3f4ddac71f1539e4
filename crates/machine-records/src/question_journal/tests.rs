use fs_err as fs;
use questions::{Answer, End, Kind, NUMBER_MAX, Question, SUBJECT_MAX_BYTES, Verdict};

use super::*;
use crate::json_lines::older;
use crate::question_records::QuestionRecords;

fn question(id: u64, reason: &str) -> Question {
    let question = Question::new(Kind::Path, "/work/a\n\u{1b}[2J", reason).expect("one");
    question
        .numbered(id)
        .of_process(Some("sh\u{202e}"), Some(0))
}

fn ended(id: u64, reason: &str, end: End) -> Event {
    Event::Ended {
        question: question(id, reason),
        end,
    }
}

fn allowed_now(rule: Option<&str>) -> End {
    End::Answered(Answer::once(Verdict::Allow, "a user").with_rule(rule))
}

fn all(path: &Path) -> Vec<Event> {
    let mut records = QuestionRecords::open(path).expect("opened");
    let mut all = Vec::new();
    while let Some(record) = records.next_record().expect("read") {
        all.push(record.event);
    }
    all
}

fn texts(path: &Path) -> String {
    let read = |path: &Path| fs::read_to_string(path).expect("read");
    read(path) + &read(&allowed(path))
}

#[test]
fn a_journal_is_read_as_it_was_written_and_goes_on_after_a_restart() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("asks.jsonl");
    assert_eq!(all(&path), []);
    let by = || "a user".to_owned();
    let events = [
        Event::Asked(question(1, "one")),
        ended(1, "one", allowed_now(Some("/a=allow"))),
        Event::Asked(question(2, "two")),
        ended(2, "two", End::TimedOut),
        ended(3, "three", allowed_now(None)),
        ended(3, "three", End::Undelivered { by: by() }),
        ended(4, "four", End::Interrupted { by: by() }),
    ];
    for event in &events {
        let mut journal = QuestionJournal::open(&path).expect("opened");
        journal.add(event).expect("written");
    }
    assert_eq!(all(&path), events);
    let text = texts(&path);
    assert_eq!(text.lines().count(), 7, "no text of a guest ends a line");
    assert!(!text.contains('\u{1b}'), "control characters are escaped");
    for part in [
        r#""event":"ended","id":1,"kind":"path","subject":"/work/a\n\u001b[2J","reason":"one""#,
        r#""end":"answered","verdict":"allow","rule":"/a=allow","by":"a user""#,
        r#""end":"interrupted","by":"a user""#,
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_journal_is_bounded_and_a_flood_pushes_no_allowed_question_out() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("asks.jsonl");
    let mut journal = QuestionJournal::with_limit(&path, 10_000).expect("opened");
    let first = ended(1, "the tests need it", allowed_now(None));
    journal.add(&first).expect("written");
    for id in 2..200 {
        let refused = ended(id, &"\0".repeat(1024), End::NoListener);
        journal.add(&refused).expect("written");
    }
    let found = all(&path);
    assert_eq!(found.first(), Some(&first));
    assert_eq!(found.last().map(|event| event.question().id), Some(199));
    for id in 200..400 {
        let event = ended(id, &"\0".repeat(1024), allowed_now(None));
        journal.add(&event).expect("written");
    }
    for path in [path.clone(), allowed(&path)] {
        for path in [older(&path), path] {
            let length_bytes = fs::metadata(&path).expect("there").len();
            assert!(length_bytes <= 10_000, "{}", path.display());
        }
    }
}

#[test]
fn a_journal_is_followed_over_the_begin_of_new_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("asks.jsonl");
    let mut journal = QuestionJournal::with_limit(&path, 2000).expect("opened");
    let mut records = QuestionRecords::open(&path).expect("opened");
    records.go_on();
    let mut found = Vec::new();
    for id in 1..=200 {
        let end = match id % 3 {
            0 => allowed_now(None),
            _ => End::NoListener,
        };
        journal.add(&ended(id, "why", end)).expect("written");
        while let Some(record) = records.next_record().expect("read") {
            found.push(record.event.question().id);
        }
    }
    assert_eq!(found, (1..=200).collect::<Vec<_>>());
}

#[test]
fn the_longest_record_is_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("asks.jsonl");
    let long = "\u{1}".repeat(SUBJECT_MAX_BYTES);
    let subject = format!("/{}", &long[1..]);
    let question = Question::new(Kind::Path, &subject, &long).expect("one");
    let question = question.of_process(Some(&long), Some(u32::MAX));
    let answer = Answer::once(Verdict::Allow, &long).with_rule(Some(&long));
    let event = Event::Ended {
        question: question.numbered(NUMBER_MAX),
        end: End::Answered(answer),
    };
    let mut journal = QuestionJournal::open(&path).expect("opened");
    journal.add(&event).expect("written");
    assert_eq!(all(&path), [event]);
}

#[test]
fn a_torn_line_takes_no_later_record_with_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("asks.jsonl");
    for torn in [path.clone(), allowed(&path)] {
        fs::write(torn, "{\"time_ns\":1,\"ev").expect("written");
    }
    let events = [ended(1, "", End::TimedOut), ended(2, "", allowed_now(None))];
    let mut journal = QuestionJournal::open(&path).expect("opened");
    for event in &events {
        journal.add(event).expect("written");
    }
    assert_eq!(all(&path), events);
}

#[test]
fn a_file_that_could_not_be_begun_is_begun_later() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("asks.jsonl");
    let mut journal = QuestionJournal::with_limit(&path, 200).expect("opened");
    let event = |id| ended(id, "why", End::TimedOut);
    journal.add(&event(1)).expect("written");
    // There was no more room after the rename.
    fs::rename(&path, older(&path)).expect("renamed");
    journal.add(&event(2)).expect("written");
    assert_eq!(all(&path), [event(1), event(2)]);
}

#[test]
fn lines_that_are_no_records_and_files_that_are_none_do_no_harm() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("asks.jsonl");
    let mut text = b"{}\nnonsense\n\xff\n".to_vec();
    text.extend(vec![b'x'; 200_000]);
    text.extend(b"\n{\"time_ns\":1,\"event\":\"ended\",\"id\":7,\"kind\":\"path\",");
    text.extend(b"\"subject\":\"/a\",\"reason\":\"\",\"end\":\"timed-out\"}\n{\"ti");
    fs::write(&path, text).expect("written");
    let found = all(&path);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].question().id, 7);
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink("/etc/passwd", &path).expect("made");
    assert!(QuestionRecords::open(&path).is_err());
    let mut journal = QuestionJournal::open(&path).expect("the symlink is replaced");
    journal
        .add(&Event::Asked(question(1, "")))
        .expect("written");
    assert_eq!(all(&path).len(), 1);
}
