use bytes::Bytes;
use fs_err as fs;

use super::*;
use crate::json_lines::older;

fn read_all(reader: &mut LogReader) -> Vec<Bytes> {
    std::iter::from_fn(|| reader.next_record().expect("read"))
        .map(|record| record.data)
        .collect()
}

#[test]
fn output_of_any_bytes_comes_back_by_lines() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("output.log");
    let mut writer = LogWriter::create(&path).expect("created");
    let mut reader = LogReader::open(&path).expect("opened");
    assert!(reader.next_record().expect("read").is_none());
    writer
        .add(LogStream::Stdout, b"one\ntwo\n")
        .expect("written");
    writer
        .add(LogStream::Stderr, b"\xff\0 no end")
        .expect("written");
    let first = reader.next_record().expect("read").expect("there");
    assert_eq!(
        (first.stream, &first.data[..]),
        (Some(LogStream::Stdout), &b"one\n"[..])
    );
    assert_eq!(read_all(&mut reader), [&b"two\n"[..], b"\xff\0 no end"]);
    let long = vec![b'x'; RECORD_MAX_BYTES + 1];
    writer.add(LogStream::Stdout, &long).expect("written");
    assert_eq!(read_all(&mut reader).concat(), long);
}

#[test]
fn a_file_that_could_not_be_begun_is_begun_later() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("output.log");
    let mut writer = LogWriter::with_limit(&path, 100).expect("created");
    writer.add(LogStream::Stdout, &[b'a'; 60]).expect("written");
    // There was no more room after the rename.
    fs::rename(&path, older(&path)).expect("renamed");
    writer.add(LogStream::Stdout, &[b'b'; 60]).expect("written");
    let mut reader = LogReader::open(&path).expect("opened");
    assert_eq!(read_all(&mut reader), [&[b'a'; 60][..], &[b'b'; 60]]);
}

#[test]
fn a_log_stays_small_and_a_reader_follows_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("output.log");
    let mut writer = LogWriter::with_limit(&path, 1000).expect("created");
    let mut reader = LogReader::open(&path).expect("opened");
    reader.go_on();
    let mut followed = Vec::new();
    let line = |number: i32| format!("line {number}\n");
    for number in 0..100 {
        let line = line(number);
        writer
            .add(LogStream::Stdout, line.as_bytes())
            .expect("written");
        followed.extend(read_all(&mut reader));
    }
    assert_eq!(followed, (0..100).map(line).collect::<Vec<_>>());
    let total: u64 = [path.clone(), path.with_extension("log.1")]
        .iter()
        .map(|path| fs::metadata(path).expect("there").len())
        .sum();
    assert!(total <= 2000, "{total}");
    let late = read_all(&mut LogReader::open(&path).expect("opened"));
    assert_eq!(late.last(), Some(&Bytes::from(line(99))));
    assert!(late.len() > 10 && late.len() < 40, "{}", late.len());
}
