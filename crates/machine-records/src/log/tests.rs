use fs_err as fs;
use questions::{Event, Kind, Question, REASON_MAX_BYTES};

use super::*;
use crate::json_lines::LineWriter;
use crate::log_options::LogSource;
use crate::log_record::LogStream;
use crate::output_log::LogWriter;
use crate::question_journal::QuestionJournal;

const NETWORK: &str = r#"
{"time":"2026-11-27T02:41:03.120Z","event":"connect","flow":1,"proto":"tcp","name":"a.test","address":"203.0.113.9","port":443,"verdict":"allowed","rule":"outbound"}
{"time":"2026-11-27T02:41:04.120Z","event":"dns","name":"b.test","type":"A","verdict":"denied","rule":"listed","code":"NXDOMAIN"}
{"time":"2026-11-27T02:41:05.120Z","event":"close","flow":1,"sent":1,"received":2,"ms":3,"end":"guest"}
{"time":"2026-11-27T02:41:06.120Z","event":"invented","by":"a guest"}
"#;

fn events(options: LogOptions) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("network.jsonl");
    fs::write(&path, NETWORK).expect("written");
    let mut log = Log::of_network(&path, options).expect("opened");
    let batch = log.batch(false).expect("read");
    assert!(batch.is_last);
    let event = |record: LogRecord| {
        let value: serde_json::Value = serde_json::from_slice(&record.data).expect("JSON");
        assert!(record.time_ns.is_some() && record.data.ends_with(b"\n"));
        value["event"].as_str().expect("an event").to_owned()
    };
    batch.records.into_iter().map(event).collect()
}

#[test]
fn records_of_the_network_are_chosen_by_time_and_verdict() {
    let second = |second: u64| Some((1_795_747_260 + second) * 1_000_000_000);
    assert_eq!(events(LogOptions::default()), ["connect", "dns", "close"]);
    let denied = LogOptions {
        denied: true,
        ..LogOptions::default()
    };
    assert_eq!(events(denied), ["dns"]);
    let dated = LogOptions {
        since_ns: second(4),
        until_ns: second(5),
        ..LogOptions::default()
    };
    assert_eq!(events(dated), ["dns"]);
    let last = LogOptions {
        tail: Some(1),
        ..LogOptions::default()
    };
    assert_eq!(events(last), ["close"]);
}

fn followed(source: LogSource) -> LogOptions {
    LogOptions {
        follow: true,
        source,
        ..LogOptions::default()
    }
}

#[test]
fn questions_are_followed_into_a_new_file_of_the_journal() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("asks.jsonl");
    let mut journal = QuestionJournal::open(&path).expect("opened");
    let mut log = Log::of_asks(&path, followed(LogSource::Asks)).expect("opened");
    let reason = "\0".repeat(REASON_MAX_BYTES);
    // Each file takes fewer than 100 of these.
    for id in 1..250 {
        let question = Question::new(Kind::Path, "/work/.env", &reason);
        let question = question.expect("one").numbered(id);
        journal.add(&Event::Asked(question)).expect("written");
        let batch = log.batch(true).expect("read");
        assert_eq!(batch.records.len(), 1, "question {id}");
    }
}

#[test]
fn output_and_connections_are_followed_into_new_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = directory.path().join("output.log");
    let network = directory.path().join("network.jsonl");
    let mut writer = LogWriter::with_limit(&output, 1000).expect("created");
    let mut connections = LineWriter::create(&network, 1000).expect("created");
    let options = followed(LogSource::Output);
    let mut of_output = Log::of_output(LogReader::open(&output).expect("opened"), options);
    let options = followed(LogSource::Network);
    let mut of_network = Log::of_network(&network, options).expect("opened");
    let record = NETWORK.lines().nth(1).expect("a line");
    let record: NetworkRecord = serde_json::from_str(record).expect("a record");
    for number in 0..100 {
        writer.add(LogStream::Stdout, b"a line\n").expect("written");
        connections.add(&record).expect("written");
        for log in [&mut of_output, &mut of_network] {
            let batch = log.batch(true).expect("read");
            assert_eq!(batch.records.len(), 1, "record {number}");
        }
    }
}
