use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Serialize;

use super::older;
use crate::untrusted_file;

/// The writer of a log of lines.
#[derive(Debug)]
pub struct LineWriter {
    path: PathBuf,
    file: fs::File,
    length_bytes: u64,
    max_bytes: u64,
    /// True if the last line of the file has no end.
    is_torn: bool,
}

impl LineWriter {
    /// Makes an empty log at `path`, with files of at most `max_bytes`; an earlier log is removed.
    ///
    /// # Errors
    /// If the files cannot be removed, or made.
    pub fn create(path: &Path, max_bytes: u64) -> io::Result<Self> {
        untrusted_file::clear(&older(path))?;
        untrusted_file::clear(path)?;
        Ok(Self {
            path: path.to_owned(),
            file: durable_files::create_new(path)?,
            length_bytes: 0,
            max_bytes,
            is_torn: false,
        })
    }

    /// Continues the log at `path`, which is made if it does not exist. Something else that is no regular file is
    /// removed.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path, max_bytes: u64) -> io::Result<Self> {
        untrusted_file::clear_unless_regular(&older(path))?;
        untrusted_file::clear_unless_regular(path)?;
        let mut file = match durable_files::create_new(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                untrusted_file::open_to_append(path)?
            }
            made => made?,
        };
        let length_bytes = file.metadata()?.len();
        let mut last = [b'\n'];
        if length_bytes > 0 {
            // The jail of the machine's process does not allow pread64(2).
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            length_bytes,
            max_bytes,
            // The writer before was killed within a line.
            is_torn: last != [b'\n'],
        })
    }

    /// Adds a record. Its line is ASCII without characters that a terminal or a splitter of lines could act on.
    ///
    /// # Errors
    /// If the file cannot be written. The next record is tried again.
    pub fn add(&mut self, record: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string(record)?;
        self.put(&terminal_text::ascii_json(&json))
    }

    /// Adds a line of JSON.
    pub(crate) fn put(&mut self, json: &str) -> io::Result<()> {
        // An end for a torn line, and that of this one.
        let added_bytes = json.len() as u64 + 2;
        if self.length_bytes > 0 && self.length_bytes + added_bytes > self.max_bytes {
            self.turn_over()?;
        }
        let end = if self.is_torn { "\n" } else { "" };
        let line = format!("{end}{json}\n");
        // One call per line: a reader sees either all of the line or none of it.
        let written = self.file.write_all(line.as_bytes());
        if written.is_ok() {
            self.length_bytes += line.len() as u64;
            self.is_torn = false;
        } else {
            self.take_back();
        }
        written
    }

    /// Begins a new file.
    fn turn_over(&mut self) -> io::Result<()> {
        match fs::rename(&self.path, older(&self.path)) {
            // It was renamed before, and the new file could not be made.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
        self.file = durable_files::create_new(&self.path)?;
        self.length_bytes = 0;
        self.is_torn = false;
        Ok(())
    }

    /// Removes the part of a line that a full disk has taken. If it cannot be removed, the next line ends it.
    fn take_back(&mut self) {
        let end = SeekFrom::Start(self.length_bytes);
        let removed = self.file.set_len(self.length_bytes);
        if removed.and_then(|()| self.file.seek(end)).is_err() {
            self.is_torn = true;
            let found = self.file.metadata();
            self.length_bytes = found.map_or(self.length_bytes, |found| found.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer whose file has a record, and the path of the file.
    fn writer(directory: &Path) -> (LineWriter, PathBuf) {
        let path = directory.join("log.jsonl");
        let mut writer = LineWriter::create(&path, 1000).expect("created");
        writer.add(&1).expect("written");
        (writer, path)
    }

    #[test]
    fn a_part_of_a_line_is_taken_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let (mut writer, path) = writer(directory.path());
        writer.file.write_all(b"{\"half").expect("written");
        writer.take_back();
        writer.add(&2).expect("written");
        assert_eq!(fs::read_to_string(path).expect("read"), "1\n2\n");
    }

    #[test]
    fn a_part_of_a_line_that_cannot_be_taken_back_joins_no_record() {
        let directory = tempfile::tempdir().expect("a directory");
        let (mut writer, path) = writer(directory.path());
        writer.file.write_all(b"{\"half").expect("written");
        // A file that takes no byte, and whose length cannot be set.
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let file = std::mem::replace(&mut writer.file, full.expect("opened"));
        assert!(writer.add(&2).is_err());
        writer.file = file;
        writer.add(&3).expect("written");
        writer.add(&4).expect("written");
        let text = fs::read_to_string(path).expect("read");
        assert_eq!(text, "1\n{\"half\n3\n4\n");
    }
}
