//! Records as lines of JSON, in a file and in the full one before it.
//!
//! The full file has the suffix `.1`; when the current file is full, too, it takes its place. Together they hold at
//! most twice the limit of a file. Readers take them for hostile: a line that is no record is left out.

mod reader;
mod writer;

use std::path::{Path, PathBuf};

pub use reader::LineReader;
pub use writer::LineWriter;

/// The bounds of a log of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineLimits {
    /// The size limit of each of the two files, in bytes.
    pub file_bytes: u64,
    /// The longest line that is read, in bytes.
    pub line_bytes: u64,
}

/// The bounds of the log of a sandbox's network.
pub const NETWORK_LIMITS: LineLimits = LineLimits {
    file_bytes: 16 << 20,
    line_bytes: 8 << 10,
};

/// Returns the path of the records that are older than those at `path`.
pub(crate) fn older(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use fs_err as fs;
    use serde_json::{Value, json};

    use super::*;

    const LIMITS: LineLimits = LineLimits {
        file_bytes: 1000,
        line_bytes: 100,
    };

    fn all(reader: &mut LineReader) -> Vec<Value> {
        std::iter::from_fn(|| reader.next_record().expect("read")).collect()
    }

    fn read(path: &Path) -> Vec<Value> {
        all(&mut LineReader::open(path, LIMITS).expect("opened"))
    }

    #[test]
    fn a_log_goes_on_after_a_restart_and_within_a_line() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log.jsonl");
        assert_eq!(read(&path), Vec::<Value>::new());
        for number in 0..3 {
            let mut writer = LineWriter::open(&path, LIMITS.file_bytes).expect("opened");
            writer.add(&json!({ "n": number })).expect("written");
            let mut file = fs::File::options().append(true).open(&path).expect("there");
            file.write_all(b"{\"n\":").expect("written");
        }
        let expected = (0..3).map(|number| json!({ "n": number }));
        assert_eq!(read(&path), expected.collect::<Vec<_>>());
        let mut writer = LineWriter::create(&path, LIMITS.file_bytes).expect("made anew");
        writer.add(&json!(7)).expect("written");
        assert_eq!(read(&path), [json!(7)]);
    }

    #[test]
    fn a_file_that_could_not_be_begun_is_begun_later() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log.jsonl");
        let mut writer = LineWriter::create(&path, 10).expect("created");
        writer.add(&json!("first")).expect("written");
        // There was no more room after the rename.
        fs::rename(&path, older(&path)).expect("renamed");
        writer.add(&json!("second")).expect("written");
        assert_eq!(read(&path), [json!("first"), json!("second")]);
    }

    #[test]
    fn no_text_ends_a_line_or_reaches_a_terminal() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log.jsonl");
        let mut writer = LineWriter::open(&path, LIMITS.file_bytes).expect("opened");
        let hostile = json!("a\n\r\u{1b}\u{7f}\u{85}\u{2028}\u{202e}");
        writer.add(&hostile).expect("written");
        let text = fs::read_to_string(&path).expect("read");
        assert!(text.is_ascii(), "{text}");
        assert_eq!(
            text.split(|end: char| end.is_control()).count(),
            2,
            "{text}"
        );
        assert_eq!(read(&path), [hostile]);
    }

    #[test]
    fn a_log_is_bounded_and_followed_over_its_rotation() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log.jsonl");
        let mut writer = LineWriter::create(&path, LIMITS.file_bytes).expect("created");
        let mut reader = LineReader::open(&path, LIMITS).expect("opened");
        reader.go_on();
        let mut followed = Vec::new();
        for number in 0..500 {
            writer.add(&json!({ "n": number })).expect("written");
            if number % 7 == 0 {
                followed.extend(all(&mut reader));
            }
        }
        followed.extend(all(&mut reader));
        let expected = (0..500).map(|number| json!({ "n": number }));
        assert_eq!(followed, expected.collect::<Vec<_>>());
        for path in [&path, &older(&path)] {
            assert!(fs::metadata(path).expect("there").len() <= LIMITS.file_bytes);
        }
        let late = read(&path);
        assert_eq!(late.last(), Some(&json!({ "n": 499 })));
        assert!(late.len() < 250, "{}", late.len());
    }

    #[test]
    fn lines_that_are_no_records_and_files_that_are_none_do_no_harm() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log.jsonl");
        let mut text = b"{\nnonsense\n\xff\n".to_vec();
        text.extend(vec![b'x'; 250]);
        text.extend(b"\n{\"n\":1}\n{\"n");
        fs::write(&path, text).expect("written");
        assert_eq!(read(&path), [json!({ "n": 1 })]);
        fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink("/etc/passwd", &path).expect("made");
        fs::create_dir_all(older(&path).join("in-the-way")).expect("made");
        assert!(LineReader::open(&path, LIMITS).is_err());
        let mut writer = LineWriter::open(&path, 10).expect("they are replaced");
        for text in ["first", "second"] {
            writer.add(&json!(text)).expect("written");
        }
        assert_eq!(read(&path), [json!("first"), json!("second")]);
    }
}
